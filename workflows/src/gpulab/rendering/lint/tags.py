"""Argo's `{{tags}}`: each one resolves where it stands."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpulab.rendering.lint.graph import dependencies
from gpulab.rendering.lint.problem import Problem, calls, names, strings, templates

TAG = re.compile(r"{{(.*?)}}", re.DOTALL)
WORKFLOW = re.compile(
    r"workflow\.(name|namespace|uid|status|failures|duration|creationTimestamp|serviceAccountName|mainEntrypoint)(\..+)?"
)
TASK = re.compile(r"(?:tasks|steps)\.([A-Za-z0-9_-]+)\.(.+)")
POD = re.compile(r"(retries|pod\.name|node\.name|lastRetry\..+)")


def resolvable(document: Mapping[str, Any]) -> Iterator[Problem]:
    """Every tag names something declared: an input, a workflow parameter, an awaited task's output, an item."""
    declared = names(document.get("spec", {}).get("arguments", {}).get("parameters"))
    by_name = {one["name"]: one for one in templates(document)}
    for template in templates(document):
        path = f"templates.{template['name']}"
        body = {key: value for key, value in template.items() if key not in ("dag", "steps")}
        for tag in _tags(body):
            if not _known(tag, template, declared):
                yield _unknown(path, tag)
        for place, call in calls(template):
            for tag in _tags(call):
                if not (
                    _known(tag, template, declared) or _of_call(tag, call) or _of_task(tag, call, template, by_name)
                ):
                    yield _unknown(place, tag)


def _unknown(path: str, tag: str) -> Problem:
    return Problem("resolvable", path, f"{{{{{tag}}}}} resolves to nothing here")


def _tags(value: Any) -> Iterator[str]:
    for text in strings(value):
        yield from (tag.strip() for tag in TAG.findall(text))


def _known(tag: str, template: Mapping[str, Any], declared: set[str]) -> bool:
    inputs = template.get("inputs", {})
    if tag == "inputs.parameters" and "script" in template:
        return True
    if tag.startswith("workflow.parameters."):
        return tag.removeprefix("workflow.parameters.") in declared
    if tag.startswith("inputs.parameters."):
        return tag.removeprefix("inputs.parameters.") in names(inputs.get("parameters"))
    if tag.startswith("inputs.artifacts."):
        return tag.split(".")[2] in names(inputs.get("artifacts"))
    return bool(WORKFLOW.fullmatch(tag) or POD.fullmatch(tag))


def _of_call(tag: str, call: Mapping[str, Any]) -> bool:
    fans_out = any(key in call for key in ("withParam", "withItems", "withSequence"))
    return fans_out and (tag == "item" or tag.startswith("item."))


def _of_task(tag: str, call: Mapping[str, Any], template: Mapping[str, Any], by_name: Mapping[str, Any]) -> bool:
    match = TASK.fullmatch(tag)
    tasks = {one["name"]: one for one in template.get("dag", {}).get("tasks", [])}
    if match is None or match[1] not in _ancestors(call, tasks):
        return False
    if match[2] in ("status", "id", "startedAt", "finishedAt"):
        return True
    outputs = by_name.get(tasks[match[1]].get("template", ""), {}).get("outputs", {})
    kind, _, name = match[2].removeprefix("outputs.").partition(".")
    return kind in ("parameters", "artifacts") and name in names(outputs.get(kind))


def _ancestors(call: Mapping[str, Any], tasks: Mapping[str, Any]) -> set[str]:
    found: set[str] = set()
    waiting = dependencies(call) & tasks.keys()
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= (dependencies(tasks[name]) & tasks.keys()) - found
    return found


def no_aggregated_outputs(document: Mapping[str, Any]) -> Iterator[Problem]:
    """Nobody reads the outputs of a fan-out: failed items vanish from the aggregate, and if all fail nobody starts."""
    for template in templates(document):
        fans_out = {
            call["name"]
            for _, call in calls(template)
            if any(key in call for key in ("withParam", "withItems", "withSequence"))
        }
        for path, call in calls(template):
            for tag in _tags(call):
                match = TASK.fullmatch(tag)
                if match and match[1] in fans_out and match[2].startswith("outputs"):
                    message = (
                        f"reads the aggregated outputs of fan-out {match[1]!r}; read the artifacts' key prefix instead"
                    )
                    yield Problem("no-aggregated-outputs", path, message)
