"""What the rendered pipelines keep apart: the platform's secrets from a project's code, one workflow from another."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from gpulab.steps.io import ATTEMPT_PREFIX, RUN_PREFIX

RENDERED = Path(__file__).parents[1] / "rendered"
FILES = ["push.yaml", "reconcile.yaml", "sync.yaml", "verify-promotion.yaml"]
STUDENTS = {"tests", "verify"}
"""The templates of push whose pods run what a project wrote."""


def leaves(file: str) -> Iterator[dict[str, Any]]:
    for template in yaml.safe_load((RENDERED / file).read_text())["spec"]["templates"]:
        if template.keys() & {"container", "script", "containerSet"}:
            yield template


def secrets(template: dict[str, Any]) -> set[str]:
    return {one["secret"]["secretName"] for one in template.get("volumes", []) if "secret" in one}


@pytest.mark.parametrize("file", FILES)
def test_a_pod_has_the_platforms_secrets_or_a_projects_code(file: str) -> None:
    for template in leaves(file):
        students = file == "push.yaml" and template["name"] in STUDENTS
        assert secrets(template) == (set() if students else {"gpulab-forge", "gpulab-registry"}), template["name"]


def test_a_projects_code_has_no_way_to_forge_registry_and_kubernetes() -> None:
    found = {one["name"]: one for one in leaves("push.yaml")}
    for name in STUDENTS:
        assert found[name]["metadata"]["labels"]["gpulab/runs"] == "students-code"
        assert found[name]["automountServiceAccountToken"] is False
        assert found[name]["executor"] == {"serviceAccountName": "gpulab-executor"}
        containers = found[name].get("containerSet", {}).get("containers") or [found[name]["container"]]
        assert not any(one.get("envFrom") for one in containers)


def test_a_run_judges_only_what_its_own_workflow_left() -> None:
    """A run's name is free again when Argo has removed it; then the same event may come once more."""
    lasting = {f"{RUN_PREFIX}/{name}" for name in ("results.json", "report.html")}
    lasting.add(f"{RUN_PREFIX}/golden/{{{{inputs.parameters.accelerator}}}}.json")
    written, read = set(), set()
    for template in leaves("push.yaml"):
        written |= {one["s3"]["key"] for one in template.get("outputs", {}).get("artifacts", [])}
        read |= {one["s3"]["key"] for one in template.get("inputs", {}).get("artifacts", [])}
    assert {one for one in written if not one.startswith(f"{ATTEMPT_PREFIX}/")} == lasting
    assert all(f"{one}/".startswith(f"{ATTEMPT_PREFIX}/") for one in read)
    assert "{{workflow.uid}}" in ATTEMPT_PREFIX
