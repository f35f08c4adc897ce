"""Argo Server as an engine: the same protocol as the local one, over its REST API."""

from gpulab.engines.argo.engine import ArgoEngine
from gpulab.engines.argo.settings import ArgoSettings

__all__ = ["ArgoEngine", "ArgoSettings"]
