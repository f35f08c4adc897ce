"""Images by digest: the builders and the stores behind one protocol."""

from gpulab.images.protocol import BuiltImage, ImageBuilder

__all__ = ["BuiltImage", "ImageBuilder"]
