"""What a pod of a release may ask of its node: nothing beyond Pod Security `restricted`, and GPUs by their limit.

See https://kubernetes.io/docs/concepts/security/pod-security-standards/.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from gpulab.contract.finding import Finding
from gpulab.contract.words import one_of, shown
from gpulab.rendering.release_rules.release import Release, at, containers, mapping, mappings, pods

POD_FIELDS: Mapping[str, str] = {
    "hostNetwork": "sees the node's network",
    "hostPID": "sees the node's processes",
    "hostIPC": "sees the node's shared memory",
    "runtimeClassName": "chooses a runtime that shows GPUs which the pod has not asked for",
    "nodeName": "passes by the scheduler",
    "schedulerName": "passes by the scheduler",
    "automountServiceAccountToken": "mounts a key to the Kubernetes API",
}
"""Fields that are refused unless they are false or absent, and why."""

CONTAINER_FIELDS: Mapping[str, str] = {
    "privileged": "is root on the node",
    "allowPrivilegeEscalation": "may become root",
}

VOLUMES = ("configMap", "emptyDir", "downwardAPI", "projected")
"""Kinds of volumes that hold nothing of the node or of others."""

GPU = "nvidia.com/"


def pods_stay_in_their_box(release: Release) -> Iterator[Finding]:
    """No field of POD_FIELDS, no user 0, no unconfined system calls."""
    for document, template in pods(release.documents):
        spec = mapping(template.get("spec"))
        for field, why in POD_FIELDS.items():
            if spec.get(field) not in (None, False, "", "default-scheduler"):
                yield release.wrong(document, f"has {field}: {shown(spec[field])}, which {why}", f"Delete {field}.")
        for field in _unsafe(mapping(spec.get("securityContext"))):
            yield release.wrong(document, f"has securityContext.{field}", f"Delete {field.split(':')[0]}.")
        if spec.get("ephemeralContainers"):
            yield release.wrong(document, "has ephemeralContainers, which are for debugging", "Delete them.")


def containers_stay_in_their_box(release: Release) -> Iterator[Finding]:
    """No privilege, capability or port of the node."""
    for document, template in pods(release.documents):
        for container in containers(template):
            name, context = shown(container.get("name")), mapping(container.get("securityContext"))
            for field, why in CONTAINER_FIELDS.items():
                if context.get(field):
                    yield release.wrong(document, f"container {name} {why} ({field})", f"Type: {field}: false")
            for field in _unsafe(context):
                yield release.wrong(document, f"container {name} has {field}", f"Delete {field.split(':')[0]}.")
            if added := at(context, "capabilities", "add"):
                yield release.wrong(document, f"container {name} adds capabilities {shown(added)}", "Delete add.")
            if any(port.get("hostPort") for port in mappings(container.get("ports"))):
                yield release.wrong(document, f"container {name} takes a port of the node", "Delete hostPort.")


def _unsafe(context: Mapping[str, Any]) -> Iterator[str]:
    if context.get("runAsUser") == 0 or context.get("runAsGroup") == 0:
        yield "runAsUser: 0"
    if context.get("runAsNonRoot") is False:
        yield "runAsNonRoot: false"
    for profile in ("seccompProfile", "appArmorProfile"):
        if at(context, profile, "type") == "Unconfined":
            yield f"{profile}: Unconfined"
    if context.get("sysctls") or context.get("procMount") not in (None, "Default"):
        yield "sysctls: or procMount"


def volumes_are_their_own(release: Release) -> Iterator[Finding]:
    """No hostPath, and no kind of volume that could hold something of others."""
    for document, template in pods(release.documents):
        for volume in mappings(at(template, "spec", "volumes")):
            for kind in sorted(set(volume) - {"name", "persistentVolumeClaim", "secret"} - set(VOLUMES)):
                message = f"volume {shown(volume.get('name'))} is a {kind}, allowed: {one_of(VOLUMES)}"
                yield release.wrong(document, message, "Type: emptyDir: {} for scratch space, or configMap.")


def gpus_are_asked_for(release: Release) -> Iterator[Finding]:
    """A GPU stands in limits only (requests default to it and must be equal), and is not taken by a variable."""
    for document, template in pods(release.documents):
        for container in containers(template):
            name = shown(container.get("name"))
            for resource in mapping(at(container, "resources", "requests")):
                if str(resource).startswith(GPU):
                    message = f"container {name} has {resource} in requests, allowed: in limits only"
                    yield release.wrong(document, message, f"Move {resource} to limits.")
            for variable in mappings(container.get("env")):
                if str(variable.get("name", "")).startswith("NVIDIA_VISIBLE_DEVICES"):
                    message = f"container {name} sets NVIDIA_VISIBLE_DEVICES, which passes by the scheduler"
                    yield release.wrong(document, message, "Delete it; ask in limits: nvidia.com/gpu: 1")


RULES = (pods_stay_in_their_box, containers_stay_in_their_box, volumes_are_their_own, gpus_are_asked_for)
