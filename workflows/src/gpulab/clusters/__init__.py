"""Where releases run: apply, prune, wait, smoke, behind one protocol."""

from gpulab.clusters.protocol import Cluster, Golden, Smoke

__all__ = ["Cluster", "Golden", "Smoke"]
