"""From a rendered template and parameters to the Workflow that is run, or to everything that is wrong with them."""

import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from gpulab.engines.local import references
from gpulab.engines.local.features import select
from gpulab.engines.local.record import now
from gpulab.engines.protocol import Json
from gpulab.errors import InputError

KINDS = ("WorkflowTemplate", "ClusterWorkflowTemplate")


def workflow(name: str, template: Mapping[str, Any], parameters: Mapping[str, str]) -> Json:
    """The Workflow that a template becomes with these parameters.

    Raises:
        InputError: names everything that cannot be run.
    """
    if template.get("kind") not in KINDS:
        raise InputError(f"kind: {template.get('kind')!r} cannot be run; it has to be {' or '.join(KINDS)}")
    spec, problems = select(template.get("spec"))
    problems += [] if problems else references.check(spec)
    problems += _check_parameters(spec, parameters)
    if problems:
        listed = "\n  ".join(problems)
        metadata = template.get("metadata")
        known = metadata.get("name") if isinstance(metadata, dict) else None
        raise InputError(f"{known}: the local engine cannot run this:\n  {listed}")
    whole = dict(template["spec"])
    whole["arguments"] = {
        "parameters": [
            {"name": item["name"], "value": parameters.get(item["name"], item.get("value"))}
            for item in spec.get("arguments", {}).get("parameters", [])
        ]
    }
    metadata = {"name": name, "uid": str(uuid.uuid4()), "creationTimestamp": now()}
    return {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": metadata, "spec": whole}


def _check_parameters(spec: Json, given: Mapping[str, str]) -> Iterator[str]:
    declared = {item.get("name"): item for item in spec.get("arguments", {}).get("parameters", [])}
    for name, item in declared.items():
        value = given.get(name, item.get("value"))
        if value is None:
            yield f"parameter {name}: is missing"
        elif "{{" in str(value):
            yield f"parameter {name}: holds '{{{{', which Argo would expand: {str(value)[:80]!r}"
    for name, value in given.items():
        if name not in declared:
            yield f"parameter {name}: is unknown; there are {', '.join(map(str, declared)) or 'none'}"
        elif not isinstance(value, str):
            yield f"parameter {name}: has to be a text, is {type(value).__name__}"
