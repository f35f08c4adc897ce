"""Semantic lint of rendered Argo documents: what the JSON schema and Hera let through.

Each rule names the path and what to do; a rule is a function from a document to problems.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gpulab.rendering.lint import events, fields, graph, pods, tags
from gpulab.rendering.lint.problem import Problem

Rule = Callable[[Mapping[str, Any]], Iterator[Problem]]

TEMPLATE_RULES: tuple[Rule, ...] = (
    fields.known_fields,
    graph.references,
    graph.unique_names,
    graph.acyclic,
    graph.arguments,
    tags.resolvable,
    tags.no_aggregated_outputs,
    pods.complete_containers,
    pods.deadlines,
    pods.mounts,
    events.contained,
)
RULES: dict[str, tuple[Rule, ...]] = {
    "WorkflowEventBinding": (fields.known_fields, events.guarded),
    "CronWorkflow": (fields.known_fields,),
}
"""By kind, of what only refers to a template; everything else is one."""


def lint(document: Mapping[str, Any]) -> list[Problem]:
    """Every problem of one rendered document; empty when it may be applied."""
    rules = RULES.get(str(document.get("kind")), TEMPLATE_RULES)
    return [problem for rule in rules for problem in rule(document)]


__all__ = ["Problem", "lint"]
