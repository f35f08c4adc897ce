"""Event data is data: it enters as a full commit id or a matched ref, and reaches no shell, argument or `env`."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpulab.events import COMMIT_ID, PUSHED_REF
from gpulab.rendering.lint.problem import Problem, calls, containers, strings, templates

FROM_EVENT = ("revision", "ref")
"""The workflow parameters that an event fills."""

CONSTANT = re.compile(r'"[^"\\]*"')
"""An expression that is a text in quotes, and nothing else."""

USED = re.compile(r"{{\s*(workflow|inputs)\.parameters\.([A-Za-z0-9_-]+)\s*}}")


def contained(document: Mapping[str, Any]) -> Iterator[Problem]:
    """Event data goes to platform steps as the parameters in their `source`, and nowhere else in a pod.

    The kubelet expands `$(TOKEN)` in `env`, `command` and `args`; Argo expands tags inside values.
    """
    tainted = _tainted(document)
    for template in templates(document):
        inside = tainted.get(template["name"], set())
        for path, container in containers(template):
            for field in ("command", "args", "env", "envFrom", "image", "workingDir"):
                for name in _event_names(container.get(field), inside):
                    yield Problem("event-data", f"{path}.{field}", f"uses {name!r}, which comes from an event")
        for name in _event_names(template.get("podSpecPatch"), inside):
            yield Problem("event-data", f"templates.{template['name']}.podSpecPatch", f"uses {name!r} from an event")


def _event_names(value: Any, tainted_inputs: set[str]) -> Iterator[str]:
    for text in strings(value):
        for scope, name in USED.findall(text):
            if name in (FROM_EVENT if scope == "workflow" else tainted_inputs):
                yield name


def _tainted(document: Mapping[str, Any]) -> dict[str, set[str]]:
    """The input parameters of each template that event data flows into, followed until nothing is added."""
    found: dict[str, set[str]] = {}
    grew = True
    while grew:
        grew = False
        for template in templates(document):
            for _, call in calls(template):
                inside = found.setdefault(call.get("template", ""), set())
                for parameter in call.get("arguments", {}).get("parameters", []):
                    hits = list(_event_names(parameter.get("value"), found.get(template["name"], set())))
                    if hits and parameter["name"] not in inside:
                        inside.add(parameter["name"])
                        grew = True
    return found


def guarded(document: Mapping[str, Any]) -> Iterator[Problem]:
    """A binding takes from the payload only what its selector matched against a pattern."""
    spec = document.get("spec", {})
    selector = spec.get("event", {}).get("selector", "")
    for parameter in spec.get("submit", {}).get("arguments", {}).get("parameters", []):
        expression = parameter.get("valueFrom", {}).get("event")
        path = f"spec.submit.arguments.{parameter['name']}"
        if expression is None:
            yield Problem(
                "event-data", path, "Argo's server takes `valueFrom.event` only; a constant is a text in quotes"
            )
        elif not CONSTANT.fullmatch(expression):
            pattern = PUSHED_REF if parameter["name"] == "ref" else COMMIT_ID
            if f'{expression} matches "{pattern}"' not in selector:
                yield Problem("event-data", path, f'the selector must say: {expression} matches "{pattern}"')
