"""Only fields that Argo knows: what Hera's models drop when they read the document is a typing error."""

from collections.abc import Iterator, Mapping
from typing import Any

from hera.workflows import models
from pydantic import BaseModel, ValidationError

from gpulab.rendering.lint.problem import Problem

MODELS: dict[str, type[BaseModel]] = {
    "Workflow": models.Workflow,
    "WorkflowTemplate": models.WorkflowTemplate,
    "ClusterWorkflowTemplate": models.ClusterWorkflowTemplate,
    "CronWorkflow": models.CronWorkflow,
    "WorkflowEventBinding": models.WorkflowEventBinding,
}


def known_fields(document: Mapping[str, Any]) -> Iterator[Problem]:
    """Read the document with the models made from Argo's own schema; whatever does not come back is unknown."""
    model = MODELS.get(document.get("kind", ""))
    if model is None:
        yield Problem("known-fields", "kind", f"{document.get('kind')!r} is none of {', '.join(sorted(MODELS))}")
        return
    try:
        back = model.model_validate(document).model_dump(mode="json", by_alias=True, exclude_none=True)
    except ValidationError as error:
        for one in error.errors(include_url=False):
            yield Problem("known-fields", ".".join(map(str, one["loc"])), one["msg"])
        return
    for path in _lost(document, back, ""):
        yield Problem("known-fields", path, "is no field that Argo knows")


def _lost(given: Any, back: Any, path: str) -> Iterator[str]:
    if isinstance(given, Mapping):
        for key, value in given.items():
            here = f"{path}.{key}".lstrip(".")
            if not isinstance(back, Mapping) or key not in back:
                yield here
            else:
                yield from _lost(value, back[key], here)
    elif isinstance(given, list):
        for index, value in enumerate(given):
            found = back[index] if isinstance(back, list) and index < len(back) else None
            yield from _lost(value, found, f"{path}[{index}]")
