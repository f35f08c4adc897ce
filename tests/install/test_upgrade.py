"""`gpulab platform upgrade`: new pipelines beside old ones, events moved, nothing ended, nothing removed unasked."""

import json
from typing import Any

import pytest
from gpulab.pipelines.settings import Settings
from gpulab.tenants.plan import events
from gpulab.tenants.project import Tenant
from gpulab.upgrade import kubectl
from gpulab.upgrade.drift import judged
from gpulab.upgrade.plan import PIPELINE, Upgrade, plan, template_of
from gpulab.upgrade.words import refusal, told

from .conftest import Document
from .healthy import PROJECT, installed, platform_of

OLD = "0.0.9"
OLD_PUSH = Settings(version=OLD).template_name("push")
NEW_PUSH = Settings().template_name("push")


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    return installed()


def pipelines(documents: list[Document]) -> list[Document]:
    return [one for one in documents if one["kind"] == "ClusterWorkflowTemplate"]


def aged(documents: list[Document]) -> list[Document]:
    """The same pipelines as an older version named them."""
    new, old = (Settings(version=version).template_name("x")[1:] for version in (Settings().version, OLD))
    renamed: list[Document] = json.loads(json.dumps(pipelines(documents)).replace(new, old))
    return renamed


def starters(documents: list[Document], version: str) -> list[dict[str, Any]]:
    platform = platform_of(documents, version)
    return events(platform, Tenant(PROJECT, f"class/{PROJECT}"))


def run(name: str, template: str) -> Document:
    spec = {"workflowTemplateRef": {"name": template, "clusterScope": True}}
    return {"kind": "Workflow", "metadata": {"namespace": f"{PROJECT}-ci", "name": name}, "spec": spec}


def upgrade(documents: list[Document], runs: list[Document]) -> Upgrade:
    """From OLD to this version."""
    due = starters(documents, Settings().version)
    return plan(pipelines(documents), aged(documents), runs, starters(documents, OLD), due)


def test_an_upgrade_adds_pipelines_and_moves_what_starts_them(documents: list[Document]) -> None:
    found = upgrade(documents, [])
    assert NEW_PUSH in found.new
    assert len(found.new) == len(pipelines(documents))
    assert found.edited == {}
    assert {template_of(one) for one in found.moved} == set(found.new)
    assert OLD_PUSH in found.unused
    assert refusal(found) == ""


def test_a_pipeline_that_a_run_uses_is_kept(documents: list[Document]) -> None:
    found = upgrade(documents, [run("push-1", OLD_PUSH)])
    assert found.kept == {OLD_PUSH: [f"{PROJECT}-ci/push-1"]}
    assert OLD_PUSH not in found.unused
    lines = list(told(found))
    assert f"pipeline {OLD_PUSH} stays: in use by {PROJECT}-ci/push-1" in lines
    assert not [line for line in lines if "kubectl delete" in line and OLD_PUSH in line]


def test_a_pipeline_that_somebody_elses_binding_starts_is_kept(documents: list[Document]) -> None:
    foreign = json.loads(json.dumps(starters(documents, OLD)[0]))
    foreign["metadata"] |= {"namespace": "other", "name": "own"}
    due = starters(documents, Settings().version)
    found = plan(pipelines(documents), aged(documents), [], [*starters(documents, OLD), foreign], due)
    assert found.kept == {template_of(foreign): ["WorkflowEventBinding other/own"]}


def test_the_same_version_twice_is_nothing(documents: list[Document]) -> None:
    due = starters(documents, Settings().version)
    found = plan(pipelines(documents), pipelines(documents), [run("push-1", NEW_PUSH)], due, due)
    assert found == Upgrade([], {}, [], {}, [])
    assert list(told(found)) == []


def test_a_change_in_place_waits_for_the_runs_that_it_would_end(documents: list[Document]) -> None:
    edited: list[Document] = json.loads(
        json.dumps(pipelines(documents)).replace("10.0.0.1:5000/steps", "elsewhere/steps")
    )
    due = starters(documents, Settings().version)
    idle = plan(edited, pipelines(documents), [], due, due)
    assert NEW_PUSH in idle.edited
    assert refusal(idle) == ""
    busy = plan(edited, pipelines(documents), [run("push-1", NEW_PUSH)], due, due)
    assert f"{NEW_PUSH}: {PROJECT}-ci/push-1" in refusal(busy)


def test_what_is_not_ours_is_never_listed_for_removal(documents: list[Document]) -> None:
    foreign = {"metadata": {"name": "theirs", "labels": {"app": "x"}}, "spec": {}}
    found = plan(pipelines(documents), [*pipelines(documents), foreign], [], [], [])
    assert found.unused == []
    assert all(PIPELINE in one["metadata"]["labels"] for one in pipelines(documents))


def test_kubectl_of_this_environment_runs_and_tells_its_exit_code() -> None:
    lines: list[str] = []
    assert kubectl.run("version", "--client", say=lines.append) == 0
    assert any("Kustomize Version" in line for line in lines)
    assert kubectl.run("no-such-verb", say=lines.append) != 0


def test_the_objects_that_kubectl_finds_changed_are_named() -> None:
    lines = [
        "diff -u -N /tmp/LIVE-12/apps.v1.Deployment.argo.argo-server /tmp/MERGED-34/apps.v1.Deployment.argo.argo-server"
    ]
    assert "differs in apps.v1.Deployment.argo.argo-server" in str(judged("overlay x", [*lines, "-  replicas: 1"]))
    assert judged("overlay x", []).level == "PASS"
