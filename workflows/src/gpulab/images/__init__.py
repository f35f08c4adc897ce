"""Images by digest: the builders and the stores behind one protocol."""

from gpulab.images.protocol import BuildFailedError, BuildRequest, BuiltImage, ImageBuilder

__all__ = ["BuildFailedError", "BuildRequest", "BuiltImage", "ImageBuilder"]
