"""What a workflow's parts say about each other, checked before the first step: names, tags, expressions, paths."""

import graphlib
from collections.abc import Callable, Iterator
from typing import Any

from gpulab.engines.local import tags
from gpulab.engines.local.expressions import Depends, check_retry, check_when, parse_depends
from gpulab.engines.local.grammar import ExpressionError
from gpulab.engines.local.leaves import LEAVES, check_leaf
from gpulab.engines.local.naming import named
from gpulab.engines.local.retries import duration
from gpulab.engines.protocol import Json

KINDS = ("dag", "steps", *LEAVES)
_EXPR_WORDS = {"and", "or", "not", "in", "true", "false", "nil", "let", "if", "else"}

Problems = Iterator[str]


def check(spec: Json) -> list[str]:
    """Everything wrong with a spec whose fields are all known, by path."""
    templates = {template.get("name"): template for template in spec.get("templates", [])}
    problems = [*named(spec.get("templates", []), "spec.templates")]
    for key in ("entrypoint", "onExit"):
        if (key == "entrypoint" or key in spec) and spec.get(key) not in templates:
            problems.append(f"spec.{key}: there is no template {spec.get(key)!r}")
    parameters = {parameter.get("name") for parameter in spec.get("arguments", {}).get("parameters", [])}
    volumes = {volume.get("name") for volume in spec.get("volumes", [])}
    for template in templates.values():
        where = f"spec.templates[{template.get('name')}]"
        problems += _template(template, templates, parameters, where)
        problems += check_leaf(template, volumes, where)
    return problems or [*_recursion(templates)] or [*_early_status(spec["entrypoint"], templates)]


def _template(template: Json, templates: dict[Any, Json], parameters: set[Any], where: str) -> Problems:
    kinds = [kind for kind in KINDS if kind in template]
    if len(kinds) != 1:
        yield f"{where}: has to be exactly one of {', '.join(KINDS)}; found {', '.join(kinds) or 'none'}"
    if not kinds or kinds[0] not in LEAVES:
        for parameter in template.get("outputs", {}).get("parameters", []):
            if "parameter" not in parameter.get("valueFrom", {}):
                yield f"{where}.outputs.parameters[{parameter['name']}].valueFrom.parameter: is missing"
    yield from _tags(template, parameters, where)
    yield from _retry(template.get("retryStrategy", {}), f"{where}.retryStrategy")
    if "dag" in template:
        yield from _dag(template["dag"].get("tasks", []), templates, f"{where}.dag.tasks")
    for index, group in enumerate(template.get("steps", [])):
        yield from named(group, f"{where}.steps[{index}]")
        for step in group:
            yield from _call(step, templates, f"{where}.steps[{index}][{step.get('name')}]")


def _tags(template: Json, parameters: set[Any], where: str) -> Problems:
    inputs = {parameter.get("name") for parameter in template.get("inputs", {}).get("parameters", [])}
    for path, text in _texts(template, where):
        yield from (f"{path}: {tag} is not supported" for tag in tags.unsupported(text))
        for tag in tags.names(text):
            for prefix, known in (("inputs.parameters.", inputs), ("workflow.parameters.", parameters)):
                if tag.startswith(prefix) and tag.removeprefix(prefix) not in known:
                    yield f"{path}: {{{{{tag}}}}} is not declared"


def _texts(value: Any, where: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _texts(inner, f"{where}.{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            name = inner.get("name", index) if isinstance(inner, dict) else index
            yield from _texts(inner, f"{where}[{name}]")


def _retry(strategy: Json, where: str) -> Problems:
    yield from _attempt(f"{where}.expression", check_retry, strategy.get("expression"))
    if strategy.get("retryPolicy", "Always") not in ("Always", "OnError", "OnFailure"):
        yield f"{where}.retryPolicy: {strategy['retryPolicy']!r} is not supported"
    yield from _attempt(f"{where}.limit", int, strategy.get("limit"))
    backoff = strategy.get("backoff", {})
    yield from _attempt(f"{where}.backoff.factor", int, backoff.get("factor"))
    for key in ("duration", "maxDuration", "cap"):
        yield from _attempt(f"{where}.backoff.{key}", lambda value: duration(str(value)), backoff.get(key))
    if backoff and "duration" not in backoff:
        yield f"{where}.backoff.duration: is missing"


def _attempt(where: str, parse: Callable[[Any], Any], value: Any) -> Problems:
    if value is None:
        return
    try:
        parse(value)
    except ValueError as error:
        yield f"{where}: {error}"


def _call(call: Json, templates: dict[Any, Json], where: str) -> Problems:
    if call.get("template") not in templates:
        yield f"{where}.template: there is no template {call.get('template')!r}"
    yield from _attempt(f"{where}.when", lambda text: check_when(tags.TAG.sub("x", text)), call.get("when") or None)
    for parameter in call.get("arguments", {}).get("parameters", []):
        if "value" not in parameter:
            yield f"{where}.arguments.parameters[{parameter.get('name')}].value: is missing"


def _dag(tasks: list[Json], templates: dict[Any, Json], where: str) -> Problems:
    yield from named(tasks, where)
    by_name = {str(task.get("name")): task for task in tasks}
    depends: dict[str, Depends] = {}
    for name, task in by_name.items():
        yield from _call(task, templates, f"{where}[{name}]")
        try:
            if task.get("depends"):
                depends[name] = parse_depends(task["depends"])
        except ExpressionError as error:
            yield f"{where}[{name}].depends: {error}"
    for name, parsed in depends.items():
        yield from _dependencies(parsed, by_name, f"{where}[{name}].depends")
    try:
        [*graphlib.TopologicalSorter({name: parsed.names for name, parsed in depends.items()}).static_order()]
    except graphlib.CycleError as error:
        yield f"{where}: the tasks wait for each other: {' -> '.join(error.args[1])}"
        return
    for name, task in by_name.items():
        yield from _task_references(task, by_name, _ancestors(name, depends), f"{where}[{name}]")


def _dependencies(parsed: Depends, tasks: dict[str, Json], where: str) -> Problems:
    for name in parsed.names:
        if name not in tasks:
            yield f"{where}: there is no task {name!r}"
        elif name in parsed.fan_outs and "withParam" not in tasks[name]:
            yield f"{where}: {name} has no withParam, so it has neither AnySucceeded nor AllFailed"
        elif name in _EXPR_WORDS or name[0].isdigit():
            yield f"{where}: Argo cannot read the task name {name!r} here"


def _ancestors(name: str, depends: dict[str, Depends]) -> set[str]:
    found: set[str] = set()
    waiting = [name]
    while waiting:
        parsed = depends.get(waiting.pop())
        new = set(parsed.names) - found if parsed else set()
        found |= new
        waiting += new
    return found


def _task_references(task: Json, tasks: dict[str, Json], ancestors: set[str], where: str) -> Problems:
    for path, text in _texts(task, where):
        for tag in tags.names(text):
            parts = tag.split(".")
            if parts[0] == "item" and "withParam" not in task:
                yield f"{path}: {{{{{tag}}}}} needs withParam"
            if parts[0] != "tasks" or len(parts) < 3:
                continue
            if parts[1] not in ancestors:
                yield f"{path}: {{{{{tag}}}}}: the task does not depend on {parts[1]!r}"
            elif parts[2] == "outputs" and "withParam" in tasks.get(parts[1], {}):
                yield f"{path}: {{{{{tag}}}}}: collected outputs of a fan-out are not supported; use an artifact prefix"


def _recursion(templates: dict[Any, Json]) -> Problems:
    graph = {name: {call["template"] for call in _calls(template)} for name, template in templates.items()}
    try:
        [*graphlib.TopologicalSorter(graph).static_order()]
    except graphlib.CycleError as error:
        yield f"spec.templates: templates call each other without end: {' -> '.join(error.args[1])}"


def _calls(template: Json) -> Iterator[Json]:
    yield from template.get("dag", {}).get("tasks", [])
    for group in template.get("steps", []):
        yield from group


def _early_status(entrypoint: str, templates: dict[Any, Json]) -> Problems:
    """Only an exit handler can ask for the workflow's status: before, it depends on Argo's pace what it gets."""
    reached = {entrypoint}
    waiting = [entrypoint]
    while waiting:
        below = {call["template"] for call in _calls(templates[waiting.pop()])} - reached
        reached |= below
        waiting += below
    for name in sorted(reached):
        for path, text in _texts(templates[name], f"spec.templates[{name}]"):
            for tag in {"workflow.status", "workflow.failures"}.intersection(tags.names(text)):
                yield f"{path}: {{{{{tag}}}}} is only known in the exit handler"
