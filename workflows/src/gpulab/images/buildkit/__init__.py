"""Images built by BuildKit in a cluster: one pod per build, nothing shared between two projects."""

from gpulab.images.buildkit.builder import BuildKitBuilder
from gpulab.images.buildkit.settings import BuildSettings, Mode

__all__ = ["BuildKitBuilder", "BuildSettings", "Mode"]
