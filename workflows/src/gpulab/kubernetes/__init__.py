"""Talking to a Kubernetes API server: requests that are tried again, and pods' trouble in words."""

from gpulab.kubernetes.api import Api, ApiError
from gpulab.kubernetes.paths import path_of

__all__ = ["Api", "ApiError", "path_of"]
