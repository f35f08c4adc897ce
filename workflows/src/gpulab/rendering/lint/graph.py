"""The graph of a workflow template: references, cycles, arguments."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

from gpulab.rendering.lint.problem import Problem, calls, names, templates

TASK_IN_DEPENDS = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*(?=[.\s()&|!]|$)(?:\.[A-Za-z]+)?")


def dependencies(task: Mapping[str, Any]) -> set[str]:
    """The tasks that a DAG task waits for."""
    in_depends = {word.split(".")[0] for word in TASK_IN_DEPENDS.findall(task.get("depends", ""))}
    return in_depends | set(task.get("dependencies", []))


def references(document: Mapping[str, Any]) -> Iterator[Problem]:
    """Entrypoint, exit handler, called templates and awaited tasks exist."""
    known = names(templates(document))
    spec = document.get("spec", {})
    if spec.get("entrypoint") not in known:
        yield Problem("references", "spec.entrypoint", f"no template is called {spec.get('entrypoint')!r}")
    if spec.get("onExit", next(iter(known), None)) not in known:
        yield Problem("references", "spec.onExit", f"no template is called {spec['onExit']!r}")
    for template in templates(document):
        tasks = names(template.get("dag", {}).get("tasks"))
        for path, call in calls(template):
            if "templateRef" not in call and call.get("template") not in known:
                yield Problem("references", path, f"no template is called {call.get('template')!r}")
            for task in sorted(dependencies(call) - tasks):
                yield Problem("references", path, f"waits for {task!r}, which is no task of this DAG")


def unique_names(document: Mapping[str, Any]) -> Iterator[Problem]:
    """No two templates, tasks or steps share a name (Hera lets the first win in silence)."""
    scopes = [("spec.templates", [one["name"] for one in templates(document)])]
    scopes += [(f"templates.{one['name']}", [call["name"] for _, call in calls(one)]) for one in templates(document)]
    for path, found in scopes:
        for name, count in sorted(Counter(found).items()):
            if count > 1:
                yield Problem("unique-names", path, f"{count} are called {name!r}")


def acyclic(document: Mapping[str, Any]) -> Iterator[Problem]:
    """No task waits for itself, no template calls itself, in however many steps."""
    graphs = {
        "spec.templates": {one["name"]: {c.get("template", "") for _, c in calls(one)} for one in templates(document)}
    }
    for one in templates(document):
        tasks = one.get("dag", {}).get("tasks", [])
        graphs[f"templates.{one['name']}.dag"] = {task["name"]: dependencies(task) for task in tasks}
        nodes = one.get("containerSet", {}).get("containers", [])
        graphs[f"templates.{one['name']}.containerSet"] = {n["name"]: set(n.get("dependencies", [])) for n in nodes}
    for path, graph in graphs.items():
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            yield Problem("acyclic", path, f"a cycle: {' → '.join(error.args[1])}")


def arguments(document: Mapping[str, Any]) -> Iterator[Problem]:
    """Every call gives what the template needs, and nothing that it does not know."""
    by_name = {one["name"]: one for one in templates(document)}
    for template in templates(document):
        for path, call in calls(template):
            called = by_name.get(call.get("template", ""))
            for kind in ("parameters", "artifacts") if called else ():
                yield from _compare(path, kind, call, called or {})


def _compare(path: str, kind: str, call: Mapping[str, Any], called: Mapping[str, Any]) -> Iterator[Problem]:
    inputs = called.get("inputs", {}).get(kind, [])
    given = names(call.get("arguments", {}).get(kind))
    needed = {one["name"] for one in inputs if not _has_own_value(one)}
    for name in sorted(needed - given):
        yield Problem("arguments", path, f"gives no {kind[:-1]} {name!r}, which {called['name']!r} needs")
    for name in sorted(given - names(inputs)):
        yield Problem("arguments", path, f"gives {kind[:-1]} {name!r}, which {called['name']!r} does not know")


def _has_own_value(item: Mapping[str, Any]) -> bool:
    return bool(item.get("optional")) or any(key in item for key in ("value", "default", "valueFrom", "s3", "raw"))
