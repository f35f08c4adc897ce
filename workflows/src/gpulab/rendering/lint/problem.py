"""What a lint rule finds, and how rules walk a document."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Problem:
    """One thing wrong in a rendered document.

    Attributes:
        rule: the rule's name.
        path: where, e.g. `templates.verify.containerSet.containers.main`.
        message: what is wrong and what to do.
    """

    rule: str
    path: str
    message: str

    def __str__(self) -> str:
        """One line."""
        return f"{self.path}: {self.message} ({self.rule})"


def templates(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The templates of a workflow template."""
    return list(document.get("spec", {}).get("templates", []))


def calls(template: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every DAG task and step of a template, with its path."""
    for task in template.get("dag", {}).get("tasks", []):
        yield f"templates.{template['name']}.dag.{task['name']}", task
    for group in template.get("steps", []):
        for step in group:
            yield f"templates.{template['name']}.steps.{step['name']}", step


def containers(template: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every container that a template's pod runs, with its path."""
    base = f"templates.{template['name']}"
    for kind in ("container", "script"):
        if kind in template:
            yield f"{base}.{kind}", template[kind]
    for one in template.get("containerSet", {}).get("containers", []):
        yield f"{base}.containerSet.{one['name']}", one
    for kind in ("initContainers", "sidecars"):
        for one in template.get(kind, []):
            yield f"{base}.{kind}.{one['name']}", one


def strings(value: Any) -> Iterator[str]:
    """Every string in a document, keys aside."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)


def names(items: Any) -> set[str]:
    """The `name` of each item of a list."""
    return {item["name"] for item in items or []}
