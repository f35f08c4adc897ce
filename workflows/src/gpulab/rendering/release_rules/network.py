"""Who a release can reach and who can reach it: inside the cluster, and no wider than the platform's own policies."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpulab.contract.finding import Finding
from gpulab.contract.words import shown
from gpulab.rendering.release_rules.release import Release, at, mapping, mappings


def services_stay_inside(release: Release) -> Iterator[Finding]:
    """ClusterIP only: other types open ports of nodes or send traffic elsewhere."""
    for document in release.of_kind("Service"):
        spec = mapping(document.get("spec"))
        if spec.get("type") not in (None, "ClusterIP"):
            message = f"found type {shown(spec.get('type'))}, allowed: ClusterIP"
            yield release.wrong(document, message, "Type: type: ClusterIP (the platform routes to it).")
        for field in ("externalIPs", "externalName", "loadBalancerIP"):
            if spec.get(field):
                yield release.wrong(document, f"has {field}, which takes traffic of others", f"Delete {field}.")


def policies_open_nothing(release: Release) -> Iterator[Finding]:
    """Policies add up: one that lets traffic out would undo the platform's default-deny.

    Allowed are DNS and pods of the same namespace.
    """
    for document in release.of_kind("NetworkPolicy"):
        for rule in mappings(at(document, "spec", "egress")):
            if not (_is_dns(rule) or _is_inside(rule)):
                message = "lets traffic out of the namespace, which only the platform decides"
                yield release.wrong(document, message, "Delete the egress rule, or name pods: to: [{podSelector: …}]")


def _is_dns(rule: Mapping[str, Any]) -> bool:
    ports = mappings(rule.get("ports"))
    return bool(ports) and all(port.get("port") in (53, "dns") and port.get("endPort") is None for port in ports)


def _is_inside(rule: Mapping[str, Any]) -> bool:
    peers = mappings(rule.get("to"))
    return bool(peers) and all(set(peer) == {"podSelector"} for peer in peers)


RULES = (services_stay_inside, policies_open_nothing)
