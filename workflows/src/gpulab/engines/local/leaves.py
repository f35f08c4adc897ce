"""What a template that is a pod (container, script, container set) has to say, checked before the first step."""

import graphlib
from collections.abc import Iterator
from typing import Any

from gpulab.engines.local.naming import named
from gpulab.engines.protocol import Json

LEAVES = ("container", "script", "containerSet")

Problems = Iterator[str]


def check_leaf(template: Json, shared: set[Any], where: str) -> Problems:
    """What is wrong with a template as a pod.

    Args:
        shared: the names of the workflow's own volumes.
        where: the template's path.
    """
    kind = next((kind for kind in LEAVES if kind in template), None)
    if kind is None:
        for field in ("activeDeadlineSeconds", "volumes"):
            if field in template:
                yield f"{where}.{field}: only a template that is a pod can have it"
        for side in ("inputs", "outputs"):
            if template.get(side, {}).get("artifacts"):
                yield f"{where}.{side}.artifacts: only a template that is a pod can have them"
        return
    body = template[kind]
    volumes = shared | {volume.get("name") for volume in template.get("volumes", [])}
    for name, container in _containers(template):
        yield from _container(container, body.get("volumeMounts", []), volumes, f"{where}.{kind}{name}")
    if kind == "containerSet":
        yield from _container_set(template, f"{where}.containerSet")
    for side in ("inputs", "outputs"):
        for artifact in template.get(side, {}).get("artifacts", []):
            yield from _artifact(artifact, body, side, f"{where}.{side}.artifacts[{artifact.get('name')}]")
    for parameter in template.get("outputs", {}).get("parameters", []):
        if not str(parameter.get("valueFrom", {}).get("path", "")).startswith("/"):
            yield f"{where}.outputs.parameters[{parameter.get('name')}].valueFrom.path: an absolute path is missing"


def _containers(template: Json) -> Iterator[tuple[str, Json]]:
    for kind in ("container", "script"):
        if kind in template:
            yield "", template[kind]
    for container in template.get("containerSet", {}).get("containers", []):
        yield f".containers[{container.get('name')}]", container


def _container(container: Json, mounts: list[Json], volumes: set[Any], where: str) -> Problems:
    for field in ("image", "command"):
        if not container.get(field):
            yield f"{where}.{field}: is missing"
    seen: set[Any] = set()
    for mount in [*container.get("volumeMounts", []), *(mounts if container.get("volumeMounts") is not mounts else [])]:
        if mount.get("name") not in volumes:
            yield f"{where}.volumeMounts: there is no volume {mount.get('name')!r}"
        if not str(mount.get("mountPath", "")).startswith("/") or mount.get("mountPath") in seen:
            yield f"{where}.volumeMounts[{mount.get('name')}].mountPath: has to be absolute and used once"
        seen.add(mount.get("mountPath"))


def _container_set(template: Json, where: str) -> Problems:
    containers = template["containerSet"].get("containers", [])
    yield from named(containers, f"{where}.containers")
    names = {container.get("name") for container in containers}
    if "main" not in names and any(template.get("outputs", {}).values()):
        yield f"{where}: outputs are taken from the container 'main', and there is none"
    graph = {container.get("name"): container.get("dependencies", []) for container in containers}
    for name, dependencies in graph.items():
        yield from (
            f"{where}.containers[{name}].dependencies: there is no container {other!r}"
            for other in dependencies
            if other not in names
        )
    try:
        [*graphlib.TopologicalSorter(graph).static_order()]
    except graphlib.CycleError as error:
        yield f"{where}.containers: they wait for each other: {' -> '.join(map(str, error.args[1]))}"


def _artifact(artifact: Json, body: Json, side: str, where: str) -> Problems:
    path = str(artifact.get("path", ""))
    if not path.startswith("/") or ".." in path.split("/"):
        yield f"{where}.path: has to be absolute, without '..'"
    if not artifact.get("s3", {}).get("key"):
        yield f"{where}.s3.key: is missing; only artifacts by key are supported"
    if "archive" not in artifact:
        yield f"{where}.archive: has to be none"
    if side == "outputs":
        return
    for mount in body.get("volumeMounts", []):
        if _below(path, mount) and mount.get("readOnly"):
            yield f"{where}.path: the volume at {mount['mountPath']} is read-only, Argo cannot put the artifact there"
    for container in body.get("containers", []):
        if any(_below(path, mount) for mount in container.get("volumeMounts", [])):
            yield (
                f"{where}.path: lies in a volume that the container {container.get('name')!r} mounts for itself; Argo "
                "puts an artifact into a volume of containerSet.volumeMounts, and else shows it to 'main' alone"
            )


def _below(path: str, mount: Json) -> bool:
    base = str(mount.get("mountPath", "")).rstrip("/")
    return path == base or path.startswith(f"{base}/")
