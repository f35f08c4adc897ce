"""The address that another pod asks a release at."""

from collections.abc import Mapping, Sequence
from typing import Any

from gpulab.rendering.release_rules.release import at, mapping, mappings, selects


def address(documents: Sequence[Mapping[str, Any]], deployment: Mapping[str, Any], namespace: str) -> str | None:
    """`http://<service>.<namespace>.svc:<port>` of the first Service that selects the Deployment's pods; None: none.

    See https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/.
    """
    labels = at(deployment, "spec", "template", "metadata", "labels")
    for service in documents:
        if service.get("kind") != "Service":
            continue
        selector, ports = mapping(at(service, "spec", "selector")), mappings(at(service, "spec", "ports"))
        if selector and ports and selects(selector, labels):
            return f"http://{at(service, 'metadata', 'name')}.{namespace}.svc:{ports[0].get('port')}"
    return None
