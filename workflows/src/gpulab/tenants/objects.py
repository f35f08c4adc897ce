"""Small makers of Kubernetes objects."""

import base64
from collections.abc import Mapping
from typing import Any

from gpulab.tenants.project import Tenant

Json = dict[str, Any]
PROJECT, MANAGED_BY = "gpulab/project", "app.kubernetes.io/managed-by"
PART_OF = {"app.kubernetes.io/part-of": "gpulab"}


def made(
    api_version: str, kind: str, namespace: str, name: str, annotations: Mapping[str, str] | None = None, **body: Any
) -> Json:
    """A namespaced object of the platform."""
    metadata: Json = {"name": name, "namespace": namespace, "labels": dict(PART_OF)}
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}


def config_map(
    namespace: str, name: str, data: Mapping[str, str], annotations: Mapping[str, str] | None = None
) -> Json:
    """A ConfigMap."""
    return made("v1", "ConfigMap", namespace, name, annotations, data=dict(data))


def secret(namespace: str, name: str, data: Mapping[str, str], kind: str = "Opaque") -> Json:
    """A Secret."""
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    return made("v1", "Secret", namespace, name, type=kind, data=encoded)


def token_secret(namespace: str, account: str) -> Json:
    """A ServiceAccount's token, under the name by which Argo finds it; Kubernetes fills it in."""
    annotations = {"kubernetes.io/service-account.name": account}
    kind = "kubernetes.io/service-account-token"
    return made("v1", "Secret", namespace, f"{account}.service-account-token", annotations, type=kind)


def labels_of(tenant: Tenant, role: str) -> dict[str, str]:
    """What tells a tenant's namespaces from others."""
    return {
        **PART_OF,
        MANAGED_BY: "gpulab",
        PROJECT: tenant.slug,
        "gpulab/role": role,
    }
