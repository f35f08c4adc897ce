"""What the tags of a template stand for: globals, inputs, outputs of others, the item of a fan-out."""

import json
from collections.abc import Mapping
from typing import Any

from gpulab.engines.local.tags import AbsentError, Scope, TagError, fill
from gpulab.engines.protocol import Json, NodeStatus, Phase

NAMESPACE = "local"


def workflow_scope(manifest: Json) -> Scope:
    """The `workflow.*` tags that do not change while the run goes on."""
    metadata, parameters = manifest["metadata"], manifest["spec"].get("arguments", {}).get("parameters", [])
    return {
        "workflow.name": metadata["name"],
        "workflow.namespace": NAMESPACE,
        "workflow.uid": metadata["uid"],
        "workflow.creationTimestamp": metadata["creationTimestamp"],
        **{f"workflow.parameters.{parameter['name']}": text(parameter["value"]) for parameter in parameters},
    }


def text(value: Any) -> str:
    """A parameter's value as Argo's AnyString has it."""
    return json.dumps(value) if isinstance(value, bool) else str(value)


def take_inputs(template: Json, arguments: Mapping[str, str | None], scope: Scope) -> dict[str, str]:
    """The input parameters of a template: argument, else value, else default (Argo: common.ProcessArgs).

    Raises:
        TagError: one was not supplied, or its value holds `{{`, which Argo would expand.
    """
    inputs: dict[str, str] = {}
    for parameter in template.get("inputs", {}).get("parameters", []):
        name = parameter["name"]
        value = arguments.get(name)
        if value is None:
            own = parameter.get("value", parameter.get("default"))
            if own is None and name in arguments:
                raise AbsentError(
                    f"inputs.parameters.{name}: the argument is the output of a skipped task, without default"
                )
            if own is None:
                raise TagError(f"inputs.parameters.{name} was not supplied")
            value = fill(text(own), scope)
        if "{{" in value:
            raise TagError(f"inputs.parameters.{name}: the value holds '{{{{', which Argo would expand: {value[:80]!r}")
        inputs[name] = value
    return inputs


def arguments_of(call: Json, scope: Scope) -> dict[str, str | None]:
    """The arguments of a task or step; None where the value is just the absent output of a skipped task."""
    arguments: dict[str, str | None] = {}
    for parameter in call.get("arguments", {}).get("parameters", []):
        value = text(parameter["value"])
        try:
            arguments[parameter["name"]] = fill(value, scope)
        except AbsentError:
            if value.count("{{") > 1 or not (value.startswith("{{") and value.endswith("}}")):
                raise
            arguments[parameter["name"]] = None
    return arguments


def template_scope(template: Json, inputs: Mapping[str, str], scope: Scope) -> Scope:
    """The scope inside a template: the globals, its inputs, and the declared paths."""
    declared = [
        {key: parameter[key] for key in ("name", "default") if key in parameter} | {"value": inputs[parameter["name"]]}
        for parameter in template.get("inputs", {}).get("parameters", [])
    ]
    inside: Scope = {**scope, "inputs.parameters": json.dumps(declared)}
    inside |= {f"inputs.parameters.{name}": value for name, value in inputs.items()}
    for kind in ("inputs", "outputs"):
        for artifact in template.get(kind, {}).get("artifacts", []):
            inside[f"{kind}.artifacts.{artifact['name']}.path"] = artifact["path"]
    for parameter in template.get("outputs", {}).get("parameters", []):
        if path := parameter.get("valueFrom", {}).get("path"):
            inside[f"outputs.parameters.{parameter['name']}.path"] = path
    return inside


def node_scope(prefix: str, node: NodeStatus, template: Json) -> Scope:
    """What others see of a node, as `tasks.NAME.…` or `steps.NAME.…`.

    A skipped or omitted node has the defaults that its template declares for its outputs (Argo ≥ 4.0.7).
    """
    scope: Scope = {f"{prefix}.status": str(node.phase)}
    if node.phase in (Phase.SKIPPED, Phase.OMITTED):
        for parameter in template.get("outputs", {}).get("parameters", []):
            default = parameter.get("valueFrom", {}).get("default")
            scope[f"{prefix}.outputs.parameters.{parameter['name']}"] = None if default is None else text(default)
    for parameter in node.outputs.get("parameters", []):
        scope[f"{prefix}.outputs.parameters.{parameter['name']}"] = parameter["value"]
    return scope


def composed_outputs(template: Json, scope: Scope) -> Json:
    """The outputs of a DAG or Steps, put together from those of its tasks (`valueFrom.parameter`)."""
    parameters = []
    for parameter in template.get("outputs", {}).get("parameters", []):
        source = parameter["valueFrom"]
        try:
            value = fill(source["parameter"], scope)
        except TagError:
            if "default" not in source:
                raise
            value = text(source["default"])
        parameters.append({"name": parameter["name"], "value": value})
    return {"parameters": parameters} if parameters else {}


def parse_items(value: str) -> list[Any]:
    """The items of a `withParam`.

    Raises:
        TagError: it is no JSON list, or an item would look different in Argo (null, a fraction).
    """
    try:
        items = json.loads(value, parse_float=_refuse, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise TagError(f"withParam value could not be parsed as a JSON list: {value.strip()[:200]}: {error}") from error
    if not isinstance(items, list):
        raise TagError(f"withParam value could not be parsed as a JSON list: {value.strip()[:200]}")
    if any(item is None for item in items):
        raise TagError("withParam: an item is null")
    return items


def item_scope(item: Any) -> tuple[Scope, str]:
    """The `item` tags, and the item's description in the node's name (Argo: operator.go, processItem)."""
    if isinstance(item, str):
        return {"item": item}, _plain(item)
    if not isinstance(item, dict):
        return {"item": _compact(item)}, _compact(item)
    scope: Scope = {"item": _compact(dict(sorted(item.items())))}
    for key, value in item.items():
        scope[f"item.{key}"] = _member(key, value)
    return scope, ",".join(sorted(f"{key}:{scope[f'item.{key}']}" for key in item))


def _member(key: str, value: Any) -> str:
    shown = _plain(value) if isinstance(value, str) else _compact(value)
    if isinstance(value, str) and shown != value:
        raise TagError(
            f"item.{key}: Argo would pass this text with its JSON escapes, {shown[:80]!r}; make it an object"
        )
    return shown


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _plain(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)[1:-1]


def _refuse(number: str) -> float:
    raise TagError(f"{number} is no whole number; make it a text")
