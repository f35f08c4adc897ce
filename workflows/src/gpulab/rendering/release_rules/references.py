"""Does what a release names exist in the release? Kubernetes finds out minutes later, in a pod that never starts."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpulab.contract.finding import Finding
from gpulab.contract.words import did_you_mean, shown
from gpulab.rendering.release_rules.release import (
    Document,
    Release,
    at,
    containers,
    mapping,
    mappings,
    pods,
)

BUILT_IN_CONFIG_MAP = "kube-root-ca.crt"
"""Kubernetes puts it into every namespace."""


def config_maps_exist(release: Release) -> Iterator[Finding]:
    """Every ConfigMap that a pod needs, with the key that it needs."""
    maps = release.named("ConfigMap")
    for document, template in pods(release.documents):
        for name, key, optional in _config_map_references(template):
            if optional or name == BUILT_IN_CONFIG_MAP:
                continue
            if name not in maps:
                message = f"names the ConfigMap {shown(name)}, which the release does not hold"
                hint = "Type: configMapGenerator: [{name: …}] in the kustomization, or correct the name."
                yield release.wrong(document, f"{message}{did_you_mean(name, maps)}", hint)
            elif key and key not in (keys := _keys(maps[name])):
                message = f"names the key {shown(key)} of ConfigMap {shown(name)}, which has no such key"
                yield release.wrong(document, f"{message}{did_you_mean(key, keys)}", "Correct the key.")


def _keys(config_map: Document) -> list[str]:
    return [*mapping(config_map.get("data")), *mapping(config_map.get("binaryData"))]


def _config_map_references(template: Mapping[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """Name, key ("" = the whole map) and whether it may be absent."""
    for container in containers(template):
        for source in mappings(container.get("envFrom")):
            yield from _reference(source.get("configMapRef"))
        for variable in mappings(container.get("env")):
            yield from _reference(at(variable, "valueFrom", "configMapKeyRef"))
    for volume in mappings(at(template, "spec", "volumes")):
        for source in (volume, *mappings(at(volume, "projected", "sources"))):
            found = source.get("configMap")
            yield from _reference(found)
            for item in mappings(at(found, "items")):
                yield from _reference({**mapping(found), "key": item.get("key")})


def _reference(found: Any) -> Iterator[tuple[str, str, bool]]:
    if isinstance(found, Mapping):
        yield str(found.get("name")), str(found.get("key") or ""), found.get("optional") is True


def no_secret_is_used(release: Release) -> Iterator[Finding]:
    """A release holds no Secret, so whatever it names would be somebody else's."""
    for document, template in pods(release.documents):
        for where in _secret_references(template):
            hint = "Delete the reference; what a service must know and nobody may see, the platform mounts."
            yield release.wrong(document, f"uses a Secret ({where}), but a release holds none", hint)


def _secret_references(template: Mapping[str, Any]) -> Iterator[str]:
    for container in containers(template):
        if any("secretRef" in source for source in mappings(container.get("envFrom"))):
            yield "envFrom"
        if any(at(variable, "valueFrom", "secretKeyRef") for variable in mappings(container.get("env"))):
            yield "env"
    for volume in mappings(at(template, "spec", "volumes")):
        sources = mappings(at(volume, "projected", "sources"))
        if "secret" in volume or any({"secret", "serviceAccountToken"} & set(source) for source in sources):
            yield f"volume {shown(volume.get('name'))}"
    if at(template, "spec", "imagePullSecrets"):
        yield "imagePullSecrets"


def accounts_and_claims_exist(release: Release) -> Iterator[Finding]:
    """ServiceAccounts of the release or `default`; storage is not part of a release."""
    accounts = release.named("ServiceAccount")
    for document, template in pods(release.documents):
        account = at(template, "spec", "serviceAccountName") or at(template, "spec", "serviceAccount")
        if account not in (None, "default") and str(account) not in accounts:
            message = f"names the ServiceAccount {shown(account)}, which the release does not hold"
            yield release.wrong(document, f"{message}{did_you_mean(account, accounts)}", "Delete serviceAccountName.")
        for volume in mappings(at(template, "spec", "volumes")):
            if "persistentVolumeClaim" in volume:
                claim = at(volume, "persistentVolumeClaim", "claimName")
                message = f"names the PersistentVolumeClaim {shown(claim)}, which the release does not hold"
                yield release.wrong(document, message, "Type: emptyDir: {}, and put data into the image.")


RULES = (config_maps_exist, no_secret_is_used, accounts_and_claims_exist)
