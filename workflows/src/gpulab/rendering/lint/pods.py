"""What every pod must say for itself."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpulab.rendering.lint.problem import Problem, containers, names, templates

LEAVES = ("container", "script", "containerSet")


def complete_containers(document: Mapping[str, Any]) -> Iterator[Problem]:
    """Every container has an image, a command, and requests and limits."""
    for path, container in (one for template in templates(document) for one in containers(template)):
        if not container.get("image"):
            yield Problem("complete-containers", path, "has no image")
        if not container.get("command"):
            message = (
                "has no command: Argo would ask the registry for the image's own, which fails without access to it"
            )
            yield Problem("complete-containers", path, message)
        resources = container.get("resources", {})
        for part in ("requests", "limits"):
            for name in ("cpu", "memory"):
                if name not in resources.get(part, {}):
                    yield Problem(
                        "complete-containers",
                        path,
                        f"has no resources.{part}.{name}: a namespace with a quota refuses it",
                    )


def mounts(document: Mapping[str, Any]) -> Iterator[Problem]:
    """Every mounted volume is declared by the template or the workflow."""
    shared = names(document.get("spec", {}).get("volumes"))
    for template in templates(document):
        declared = shared | names(template.get("volumes"))
        whole_set = (f"templates.{template['name']}.containerSet", template.get("containerSet", {}))
        for path, container in [*containers(template), whole_set]:
            for name in sorted(names(container.get("volumeMounts")) - declared):
                yield Problem("mounts", path, f"mounts {name!r}, which no volume is called")


def deadlines(document: Mapping[str, Any]) -> Iterator[Problem]:
    """Leaves have a deadline, nothing else has: others count the time in a queue and make it a false failure."""
    spec = document.get("spec", {})
    if "activeDeadlineSeconds" in spec:
        message = "a workflow's deadline counts the time that a pod waits in a queue; put it on the leaf templates"
        yield Problem("deadlines", "spec.activeDeadlineSeconds", message)
    for template in templates(document):
        path = f"templates.{template['name']}"
        if "timeout" in template:
            yield Problem("deadlines", path, "timeout counts time in a queue; use activeDeadlineSeconds of the leaf")
        is_leaf = any(kind in template for kind in LEAVES)
        if is_leaf != ("activeDeadlineSeconds" in template):
            verb = "needs" if is_leaf else "must not have"
            yield Problem("deadlines", path, f"{verb} activeDeadlineSeconds")
