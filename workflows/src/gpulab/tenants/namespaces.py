"""A tenant's four namespaces: how their pods are confined, and what they use when they do not say."""

from collections.abc import Iterator

from gpulab.tenants.objects import Json, labels_of, made
from gpulab.tenants.project import ROLES, Tenant
from gpulab.tenants.settings import Platform

POD_SECURITY_VERSION = "v1.34"
GPU = "requests.nvidia.com/gpu"


def namespaces(platform: Platform, tenant: Tenant) -> Iterator[Json]:
    """The namespaces themselves."""
    for role in ROLES:
        labels = labels_of(tenant, role) | pod_security(role, platform["BUILDKIT_MODE"])
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": tenant.namespace(role), "labels": labels}}


def pod_security(role: str, mode: str) -> dict[str, str]:
    """Pod Security per namespace; https://kubernetes.io/docs/concepts/security/pod-security-standards/.

    BuildKit asks for what only `privileged` allows, rootless too: unconfined seccomp and AppArmor, so that it may make
    user namespaces. Nobody but the platform's own step can create a pod there. A warning shows what rootless does
    without.
    """
    prefix = "pod-security.kubernetes.io"
    enforce = "privileged" if role == "build" else "restricted"
    warn = {"rootless": "baseline"}.get(mode, "privileged") if role == "build" else "restricted"
    return {
        f"{prefix}/enforce": enforce,
        f"{prefix}/enforce-version": POD_SECURITY_VERSION,
        f"{prefix}/warn": warn,
        f"{prefix}/warn-version": POD_SECURITY_VERSION,
    }


def limits(tenant: Tenant) -> Iterator[Json]:
    """What a container gets that asks for nothing, and how many GPUs a namespace may hold.

    No quota on CPU or memory: it would refuse every pod that sets no limit, Argo's own containers among them.
    """
    for role in ROLES:
        namespace = tenant.namespace(role)
        default = {"cpu": "1", "memory": "1Gi"}
        container = {"type": "Container", "default": default, "defaultRequest": {"cpu": "100m", "memory": "256Mi"}}
        yield made("v1", "LimitRange", namespace, "gpulab", spec={"limits": [container]})
        gpus = 0 if role == "build" else tenant.gpus
        yield made("v1", "ResourceQuota", namespace, "gpulab", spec={"hard": {GPU: str(gpus)}})


def queue(tenant: Tenant) -> Json:
    """Its place in Kueue's queue for accelerators."""
    return made(
        "kueue.x-k8s.io/v1beta2", "LocalQueue", tenant.namespace("ci"), "default", spec={"clusterQueue": "gpulab"}
    )
