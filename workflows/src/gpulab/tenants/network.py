"""Who a tenant's pods can reach: nobody, and then what each namespace needs.

A policy names IP addresses or namespaces, a setting names a host. An IP address is taken as it is,
`service.namespace.svc` as that namespace, and any other name as every address at its port but the cloud's metadata.
"""

import ipaddress
import re
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from gpulab.errors import PlatformError
from gpulab.pipelines.parts import STUDENTS_CODE
from gpulab.tenants.objects import Json, made
from gpulab.tenants.project import RELEASED, ROLES, Tenant
from gpulab.tenants.settings import Address, Platform

NAMESPACE_OF = re.compile(r"[a-z0-9-]+\.([a-z0-9-]+)\.svc(?:\.cluster\.local)?")
METADATA = "169.254.0.0/16"
PRIVATE = ("10.0.0.0/8", "100.64.0.0/10", METADATA, "172.16.0.0/12", "192.168.0.0/16")
DNS = {"ports": [{"port": 53, "protocol": protocol} for protocol in ("UDP", "TCP")]}
"""By port alone: a resolver may run on the node (node-local-dns) and has no labels then."""

TRUSTED = [{"key": key, "operator": "NotIn", "values": [value]} for key, value in STUDENTS_CODE.items()]
"""Pods that run what a project wrote get no way to forge, registry and releases."""


def policies(platform: Platform, tenant: Tenant) -> Iterator[Json]:
    """All policies of a tenant."""
    for role in ROLES:
        yield _policy(tenant, role, "gpulab-deny", ["Ingress", "Egress"])
    for role in ("ci", "build"):
        yield _policy(tenant, role, "gpulab-dns", ["Egress"], egress=[DNS])
    forge = [to(platform["FORGE_URL"]), to(platform["FORGE_API"])]
    registry = to(platform["REGISTRY"], platform.get("REGISTRY_INSECURE", "false") == "true")
    store = to(platform["S3_ENDPOINT"], platform.get("S3_INSECURE", "false") == "true")
    servers = [to_address(one) for one in platform.api_servers]
    yield _policy(tenant, "ci", "gpulab-runs", ["Egress"], egress=distinct([*servers, store]))
    released = {"gpulab/project": tenant.slug}
    peers = [{"namespaceSelector": {"matchLabels": released | {"gpulab/role": role}}} for role in RELEASED]
    platforms = distinct([*forge, registry, {"to": peers}])
    yield _policy(tenant, "ci", "gpulab-platform", ["Egress"], {"matchExpressions": TRUSTED}, egress=platforms)
    outside = [*forge, registry, WORLD, *extra(platform.get("BUILD_EGRESS", ""))]
    yield _policy(tenant, "build", "gpulab-build", ["Egress"], egress=distinct(outside))
    pipelines = {"namespaceSelector": {"matchLabels": {"gpulab/project": tenant.slug, "gpulab/role": "ci"}}}
    for role in RELEASED:
        yield _policy(tenant, role, "gpulab-smoke", ["Ingress"], ingress=[{"from": [pipelines]}])


WORLD = {
    "to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": list(PRIVATE)}}],
    "ports": [{"port": port, "protocol": "TCP"} for port in (80, 443)],
}
"""Base images and packages; nothing inside the cluster or its network."""


def to(url: str, insecure: bool = False) -> Json:
    """Egress to the host of a URL, or of `host[:port][/path]`."""
    parts = urlsplit(url if "://" in url else f"{'http' if insecure else 'https'}://{url}")
    host, port = parts.hostname or "", parts.port or (80 if parts.scheme == "http" else 443)
    inside = NAMESPACE_OF.fullmatch(host)
    try:
        return to_address(Address(str(ipaddress.ip_address(host)), port))
    except ValueError:
        pass
    if inside:
        # a policy sees the pod's port, not the service's
        return {"to": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": inside[1]}}}]}
    return {"to": [_block("0.0.0.0/0", METADATA)], "ports": [{"port": port, "protocol": "TCP"}]}


def to_address(address: Address) -> Json:
    """Egress to one address and port."""
    bits = 128 if ":" in address.ip else 32
    return {"to": [_block(f"{address.ip}/{bits}")], "ports": [{"port": address.port, "protocol": "TCP"}]}


def extra(text: str) -> list[Json]:
    """GPULAB_BUILD_EGRESS: `address/bits:port`, separated by spaces; proxies and mirrors inside the network.

    Raises:
        PlatformError: it is something else.
    """
    rules = []
    for one in text.split():
        cidr, _, port = one.rpartition(":")
        try:
            block, number = _block(str(ipaddress.ip_network(cidr))), int(port)
        except ValueError as error:
            raise PlatformError(f"GPULAB_BUILD_EGRESS: found {one!r} ({error}); allowed: 10.1.0.0/16:3128") from None
        rules.append({"to": [block], "ports": [{"port": number, "protocol": "TCP"}]})
    return rules


def distinct(rules: Iterable[Json]) -> list[Json]:
    """Each rule once."""
    kept: list[Json] = []
    for rule in rules:
        if rule not in kept:
            kept.append(rule)
    return kept


def _block(cidr: str, *excepted: str) -> Json:
    return {"ipBlock": {"cidr": cidr} | ({"except": list(excepted)} if excepted else {})}


def _policy(
    tenant: Tenant, role: str, name: str, types: list[str], selector: Json | None = None, **rules: list[Json]
) -> Json:
    spec = {"podSelector": selector or {}, "policyTypes": types, **rules}
    return made("networking.k8s.io/v1", "NetworkPolicy", tenant.namespace(role), name, spec=spec)
