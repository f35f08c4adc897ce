"""A real cluster: server-side apply, an inventory to prune by, a rollout that is waited for, smoke by the Service."""

from gpulab.clusters.kubernetes.cluster import KubernetesCluster

__all__ = ["KubernetesCluster"]
