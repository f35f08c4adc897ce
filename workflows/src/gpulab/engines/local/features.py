"""Which fields of a workflow the engine knows: it runs them, or ignores them because they only matter in a cluster.

Whatever is not in these tables is refused by path, all of it at once and before the first step. A field is never
dropped in silence: that would be another workflow than the one that Argo runs.
"""

from typing import Any

from gpulab.engines.protocol import Json

VALUE, IGNORED, FALSE = "value", "ignored", "false"
_DROP = object()

# fmt: off
_CLUSTER = {
    "affinity", "annotations", "archiveLogs", "automountServiceAccountToken", "executor", "hostUsers",
    "imagePullPolicy", "imagePullSecrets", "labels", "metadata", "nodeSelector", "podGC", "podMetadata",
    "podPriorityClassName", "podSpecPatch", "priority", "priorityClassName", "resources", "schedulerName",
    "securityContext", "serviceAccountName", "tolerations", "ttlStrategy", "workflowMetadata",
}
# fmt: on
"""Accepted and ignored, because it only matters in a cluster."""


def _ignored(*fields: str) -> Json:
    unknown = set(fields) - _CLUSTER
    assert not unknown, unknown  # noqa: S101  a slip in the tables below, not the user's
    return dict.fromkeys(fields, IGNORED)


_ARGUMENTS = {"parameters": [{"name": VALUE, "value": VALUE}]}
_CALL = {"name": VALUE, "template": VALUE, "arguments": _ARGUMENTS, "when": VALUE}
_MUTEXES = {"mutexes": [{"name": VALUE}]}
_ARTIFACT = {
    "name": VALUE,
    "path": VALUE,
    "optional": VALUE,
    "archive": {"none": IGNORED},
    "s3": {"key": VALUE},
}
_INPUT = {"name": VALUE, "value": VALUE, "default": VALUE, "description": IGNORED}
_OUTPUT = {
    "name": VALUE,
    "valueFrom": {"path": VALUE, "parameter": VALUE, "default": VALUE},
    "description": IGNORED,
}
_MOUNTS = [{"name": VALUE, "mountPath": VALUE, "readOnly": VALUE}]
_CONTAINER = {
    "name": VALUE,
    "image": VALUE,
    "command": [VALUE],
    "args": [VALUE],
    "env": [{"name": VALUE, "value": VALUE}],
    "envFrom": [{"configMapRef": {"name": VALUE, "optional": VALUE}}],
    "volumeMounts": _MOUNTS,
    "workingDir": VALUE,
    "terminationMessagePath": VALUE,
    **_ignored("resources", "securityContext", "imagePullPolicy"),
}
_VOLUMES = [{"name": VALUE, "emptyDir": IGNORED}]
_RETRY = {
    "limit": VALUE,
    "retryPolicy": VALUE,
    "expression": VALUE,
    "backoff": {"duration": VALUE, "factor": VALUE, "maxDuration": VALUE, "cap": VALUE},
    **_ignored("affinity"),
}
_TEMPLATE = {
    "name": VALUE,
    "inputs": {"parameters": [_INPUT], "artifacts": [_ARTIFACT]},
    "outputs": {"parameters": [_OUTPUT], "artifacts": [_ARTIFACT]},
    "dag": {"tasks": [{**_CALL, "depends": VALUE, "withParam": VALUE}], "failFast": VALUE},
    "steps": [[_CALL]],
    "container": _CONTAINER,
    "script": {**_CONTAINER, "source": VALUE},
    "containerSet": {"containers": [{**_CONTAINER, "dependencies": [VALUE]}], "volumeMounts": _MOUNTS},
    "retryStrategy": _RETRY,
    "activeDeadlineSeconds": VALUE,
    "synchronization": _MUTEXES,
    "parallelism": VALUE,
    "failFast": FALSE,  # of the template: false is Argo's default, and Hera writes it beside the DAG's own
    "volumes": _VOLUMES,
    **_ignored(
        *("affinity", "annotations", "automountServiceAccountToken", "executor", "metadata", "nodeSelector"),
        *("podSpecPatch", "priorityClassName", "schedulerName", "securityContext", "serviceAccountName", "tolerations"),
    ),
}
_SPEC = {
    "entrypoint": VALUE,
    "onExit": VALUE,
    "arguments": {"parameters": [{"name": VALUE, "value": VALUE, "description": IGNORED}]},
    "templates": [_TEMPLATE],
    "parallelism": VALUE,
    "synchronization": _MUTEXES,
    "volumes": _VOLUMES,
    **_ignored(
        *("affinity", "archiveLogs", "automountServiceAccountToken", "executor", "hostUsers", "imagePullSecrets"),
        *("nodeSelector", "podGC", "podMetadata", "podPriorityClassName", "podSpecPatch", "priority"),
        *("schedulerName", "securityContext", "serviceAccountName", "tolerations", "ttlStrategy", "workflowMetadata"),
    ),
}


def select(spec: Any) -> tuple[Json, list[str]]:
    """The part of a workflow's spec that the engine runs, and every field that it refuses, by path."""
    problems: list[str] = []
    selected = _walk(spec, _SPEC, "spec", problems)
    return (selected if isinstance(selected, dict) else {}), problems


def _walk(value: Any, shape: Any, path: str, problems: list[str]) -> Any:
    if shape == IGNORED or value is None:
        return _DROP
    if shape == FALSE:
        if value is not False:
            problems.append(f"{path}: not supported")
        return _DROP
    if shape == VALUE:
        return _value(value, path, problems)
    if isinstance(shape, list):
        return _list(value, shape[0], path, problems)
    if not isinstance(value, dict):
        problems.append(f"{path}: has to be a mapping, is {type(value).__name__}")
        return _DROP
    chosen = {}
    for key, inner in value.items():
        if key not in shape:
            problems.append(f"{path}.{key}: not supported")
            continue
        kept = _walk(inner, shape[key], f"{path}.{key}", problems)
        if kept is not _DROP:
            chosen[key] = kept
    return chosen


def _list(value: Any, shape: Any, path: str, problems: list[str]) -> Any:
    if not isinstance(value, list):
        problems.append(f"{path}: has to be a list, is {type(value).__name__}")
        return _DROP
    named = [item.get("name", index) if isinstance(item, dict) else index for index, item in enumerate(value)]
    kept = (_walk(item, shape, f"{path}[{name}]", problems) for item, name in zip(value, named, strict=True))
    return [item for item in kept if item is not _DROP]


def _value(value: Any, path: str, problems: list[str]) -> Any:
    if isinstance(value, str | int):
        return value
    problems.append(f"{path}: has to be a text, a whole number or true/false, is {type(value).__name__}; quote it")
    return _DROP
