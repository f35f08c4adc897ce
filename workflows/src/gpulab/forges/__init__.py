"""Where the code lives: commit statuses, pull requests and deploy branches, behind one protocol."""

from gpulab.forges.protocol import Forge, PullRequest, Status

__all__ = ["Forge", "PullRequest", "Status"]
