"""Which fields of a workflow the engine knows: it runs them, or ignores them because they only matter in a cluster.

Whatever is not in these tables is refused by path, all of it at once and before the first step. A field is never
dropped in silence: that would be another workflow than the one that Argo runs.
"""

from typing import Any

from gpulab.engines.protocol import Json

IGNORED, FALSE, TRUE = "ignored", "false", "true"
NUMBER, VALUE = (int, str), (str, int, bool)
_DROP = object()

# A key that ends with "!" has to be there.
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


_ARGUMENTS = {"parameters": [{"name!": str, "value": VALUE}]}
_CALL = {"name!": str, "template!": str, "arguments": _ARGUMENTS, "when": str}
_MUTEXES = {"mutexes": [{"name!": str}]}
_ARTIFACT = {
    "name!": str,
    "path": str,
    "optional": bool,
    "archive": {"none": IGNORED},
    "s3": {"key": str},
}
_INPUT = {"name!": str, "value": VALUE, "default": VALUE, "description": IGNORED}
_OUTPUT = {
    "name!": str,
    "valueFrom": {"path": str, "parameter": str, "default": VALUE},
    "description": IGNORED,
}
_MOUNTS = [{"name!": str, "mountPath!": str, "readOnly": bool}]
_CONTAINER = {
    "name": str,
    "image": str,
    "command": [str],
    "args": [str],
    "env": [{"name!": str, "value": str}],
    "envFrom": [{"configMapRef!": {"name!": str, "optional": bool}}],
    "volumeMounts": _MOUNTS,
    "workingDir": str,
    "terminationMessagePath": str,
    "terminationMessagePolicy": str,
    **_ignored("resources", "securityContext", "imagePullPolicy"),
}
_SECRET = {"secretName!": str, "optional!": TRUE, "defaultMode": IGNORED, "items": IGNORED}
_VOLUMES = [{"name!": str, "emptyDir": IGNORED, "secret": _SECRET}]
"""This engine has no Secrets: one that must be there is refused, an optional one is an empty folder."""
_RETRY = {
    "limit": NUMBER,
    "retryPolicy": str,
    "expression": str,
    "backoff": {"duration": NUMBER, "factor": NUMBER, "maxDuration": NUMBER, "cap": NUMBER},
    **_ignored("affinity"),
}
_TEMPLATE = {
    "name!": str,
    "inputs": {"parameters": [_INPUT], "artifacts": [_ARTIFACT]},
    "outputs": {"parameters": [_OUTPUT], "artifacts": [_ARTIFACT]},
    "dag": {"tasks!": [{**_CALL, "depends": str, "withParam": str}], "failFast": bool},
    "steps": [[_CALL]],
    "container": _CONTAINER,
    "script": {**_CONTAINER, "source!": str},
    "containerSet": {"containers!": [{**_CONTAINER, "name!": str, "dependencies": [str]}], "volumeMounts": _MOUNTS},
    "retryStrategy": _RETRY,
    "activeDeadlineSeconds": NUMBER,
    "synchronization": _MUTEXES,
    "parallelism": int,
    "failFast": FALSE,  # of the template: false is Argo's default, and Hera writes it beside the DAG's own
    "volumes": _VOLUMES,
    **_ignored(
        *("affinity", "annotations", "automountServiceAccountToken", "executor", "metadata", "nodeSelector"),
        *("podSpecPatch", "priorityClassName", "schedulerName", "securityContext", "serviceAccountName", "tolerations"),
    ),
}
_SPEC = {
    "entrypoint": str,
    "onExit": str,
    "arguments": {"parameters": [{"name!": str, "value": VALUE, "description": IGNORED}]},
    "templates!": [_TEMPLATE],
    "parallelism": int,
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
    if shape in (FALSE, TRUE):
        if value is not (shape == TRUE):
            problems.append(f"{path}: not supported" if shape == FALSE else f"{path}: has to be {shape}")
        return _DROP
    if isinstance(shape, type | tuple):
        return _value(value, shape, path, problems)
    if isinstance(shape, list):
        return _list(value, shape[0], path, problems)
    if not isinstance(value, dict):
        problems.append(f"{path}: has to be a mapping, is {type(value).__name__}")
        return _DROP
    chosen, known = {}, {key.rstrip("!"): inner for key, inner in shape.items()}
    for key, inner in value.items():
        if key not in known:
            problems.append(f"{path}.{key}: not supported")
            continue
        kept = _walk(inner, known[key], f"{path}.{key}", problems)
        if kept is not _DROP:
            chosen[key] = kept
    if set(value) <= set(known):
        missing = (key[:-1] for key in shape if key.endswith("!") and value.get(key[:-1]) is None)
        problems += (f"{path}.{key}: is missing" for key in missing)
    return chosen


def _list(value: Any, shape: Any, path: str, problems: list[str]) -> Any:
    if not isinstance(value, list):
        problems.append(f"{path}: has to be a list, is {type(value).__name__}")
        return _DROP
    named = [item.get("name", index) if isinstance(item, dict) else index for index, item in enumerate(value)]
    kept = (_walk(item, shape, f"{path}[{name}]", problems) for item, name in zip(value, named, strict=True))
    return [item for item in kept if item is not _DROP]


def _value(value: Any, shape: Any, path: str, problems: list[str]) -> Any:
    kinds = shape if isinstance(shape, tuple) else (shape,)
    if type(value) in kinds:
        return value
    allowed = " or ".join({str: "a text", int: "a whole number", bool: "true or false"}[kind] for kind in kinds)
    problems.append(f"{path}: has to be {allowed}, is {type(value).__name__} {str(value)[:40]!r}")
    return _DROP
