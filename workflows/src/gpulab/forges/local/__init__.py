"""A forge on one machine: a bare repository, whose hook starts runs, and JSON files beside it."""

from gpulab.forges.local.forge import LocalForge

__all__ = ["LocalForge"]
