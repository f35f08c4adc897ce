"""What is applied fits Argo's own definitions, every field of it: an API server would drop or refuse what does not."""

import json
from typing import Any

import jsonschema
import pytest
from gpulab.pipelines.settings import Settings
from gpulab.rendering.workflows import binding_documents, pipeline_document, schedule_document

from .conftest import GITOPS, Document

SCHEMAS = {}
for file in sorted((GITOPS / "crds").glob("*.json")):
    crd = json.loads(file.read_text(encoding="utf-8"))
    SCHEMAS[crd["spec"]["names"]["kind"]] = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


def closed(schema: Any) -> Any:
    """The same schema that refuses fields it does not name, as `fieldValidation=Strict` does."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(one) for key, one in schema.items() if key != "format"}
    open_ended = "additionalProperties" in schema or schema.get("x-kubernetes-preserve-unknown-fields")
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object" and not open_ended:
        made["additionalProperties"] = False
    return made


def problems(document: Document) -> list[str]:
    validator = jsonschema.Draft202012Validator(closed(SCHEMAS[document["kind"]]["properties"]["spec"]))
    return [f"{one.json_path}: {one.message[:200]}" for one in validator.iter_errors(document["spec"])]


def test_every_argo_object_of_an_overlay_fits(documents: list[Document]) -> None:
    found = [one for one in documents if one["kind"] in SCHEMAS]
    assert len(found) >= 4
    assert [(one["metadata"]["name"], problems(one)) for one in found if problems(one)] == []


def test_what_starts_a_tenants_runs_fits() -> None:
    for one in (*binding_documents("gpu-lab-1", Settings()), schedule_document("gpu-lab-1", Settings())):
        assert problems(one) == [], one["metadata"]["name"]


MISTAKES: list[tuple[str, object]] = [
    ("entryPoint", "push"),
    ("serviceAccountName", 1),
    ("podGC", {"strategi": "x"}),
    ("templates", [{"name": "a", "dag": {"tasks": 1}}]),
]


@pytest.mark.parametrize(("path", "value"), MISTAKES, ids=[path for path, _ in MISTAKES])
def test_a_mistake_is_found(path: str, value: object) -> None:
    document = pipeline_document("push", Settings())
    document["spec"][path] = value
    assert problems(document)
