"""Reconciling in a cluster: a real git forge, and the Workflows of a namespace as the Kubernetes API gives them."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from gpulab.clusters.workflows import referring
from gpulab.events import PROMOTION_CHECK, TEACHING, promotion_run, push_run, sync_run
from gpulab.forges.http import RefusedError
from gpulab.forges.local import LocalForge
from gpulab.forges.protocol import Status
from gpulab.pipelines import reconcile as pipeline
from gpulab.pipelines.settings import Settings
from gpulab.reconcile import WAITS, Facts, missed
from gpulab.rendering.workflows import pipeline_document, schedule_document
from gpulab.steps import reconcile as step
from gpulab.steps.cluster_facts import LATELY, RELEASES, cluster_facts
from gpulab.steps.release_file import RELEASE, Release

SLUG = "gpu-lab-1"
NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
MAIN = "refs/heads/main"


class Namespace:
    """The Workflows of a namespace in memory; started ones are live."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, Any]] = {}

    def all(self) -> list[dict[str, Any]]:
        return list(self.found.values())

    def start(self, name: str, template: str, parameters: Mapping[str, str]) -> None:
        self.found.setdefault(name, referring(name, template, parameters))

    def add(
        self, name: str, revision: str, phase: str, ago: timedelta = timedelta(), nodes: Sequence[Any] = ()
    ) -> None:
        one = referring(name, "push-v0-1-0", {"revision": revision})
        one["status"] = {"phase": phase, "nodes": {str(number): node for number, node in enumerate(nodes)}}
        if phase not in ("Pending", "Running"):
            one["status"]["finishedAt"] = (NOW - ago).isoformat()
        self.found[name] = one


class Counting(LocalForge):
    """A forge that remembers of which commits it was asked."""

    asked: list[str]

    def statuses(self, revision: str) -> dict[str, Status]:
        self.__dict__.setdefault("asked", []).append(revision)
        return super().statuses(revision)


@pytest.fixture
def namespace() -> Namespace:
    return Namespace()


def commit(forge: LocalForge, branch: str, text: str = "x") -> str:
    """A new commit on a branch of the student's."""
    git = forge.git
    blob = git.text("hash-object", "-w", "--stdin", stdin=text.encode())
    tree = git.text("mktree", stdin=f"100644 blob {blob}\tfile\n".encode())
    made = git.text("commit-tree", tree, "-F", "-", stdin=text.encode())
    git.run("update-ref", f"refs/heads/{branch}", made)
    return made


def facts(forge: LocalForge, namespace: Namespace) -> Facts:
    return cluster_facts(SLUG, forge, namespace.all, NOW)


def mend(forge: LocalForge, namespace: Namespace) -> list[str]:
    """Reconcile once; the troubles."""
    known = facts(forge, namespace)
    return [why for one in missed(known) if (why := step.mend(forge, namespace, known, "v0-1-0", one))]


def test_a_lost_push_is_started_once_as_the_binding_would(forge: LocalForge, namespace: Namespace) -> None:
    head = commit(forge, "main")
    assert mend(forge, namespace) == []
    name = push_run(head, MAIN)
    spec = namespace.found[name]["spec"]
    assert spec["workflowTemplateRef"] == {"name": "push-v0-1-0", "clusterScope": True}
    given = {one["name"]: one["value"] for one in spec["arguments"]["parameters"]}
    assert given == {"project": SLUG, "revision": head, "ref": MAIN}
    before = dict(namespace.found)
    assert mend(forge, namespace) == []
    assert namespace.found == before


def test_a_run_that_ended_without_a_word_is_closed_and_not_held_against_anybody(
    forge: LocalForge, namespace: Namespace
) -> None:
    head = commit(forge, "main")
    run = push_run(head, MAIN)
    forge.set_status(head, Status("gpulab/push", "pending", "running", run))
    namespace.add(run, head, "Failed")
    mend(forge, namespace)
    assert forge.statuses(head)["gpulab/push"].state == "error"


def test_what_a_run_says_in_the_meantime_is_not_overwritten(forge: LocalForge, namespace: Namespace) -> None:
    head = commit(forge, "main")
    run = push_run(head, MAIN)
    forge.set_status(head, Status("gpulab/push", "pending", "running", run))
    namespace.add(run, head, "Succeeded")
    known = facts(forge, namespace)
    forge.set_status(head, Status("gpulab/push", "success", "PASS", run))
    for action in missed(known):
        assert step.mend(forge, namespace, known, "v0-1-0", action) == ""
    assert forge.statuses(head)["gpulab/push"].state == "success"


def test_a_run_that_begins_while_the_forge_is_asked_is_alive(forge: LocalForge, namespace: Namespace) -> None:
    head = commit(forge, "main")
    run = push_run(head, MAIN)
    forge.set_status(head, Status("gpulab/push", "pending", "running", run))
    lists = iter([[], [referring(run, "push-v0-1-0", {"revision": head})]])
    assert missed(cluster_facts(SLUG, forge, lambda: next(lists), NOW)) == []


def node(message: str, minutes: int, kind: str = "Pod") -> dict[str, Any]:
    name = 'verify(0:name:t4,on:t4,podSpecPatch:{"nodeSelector":{"a":"b"}})(0)'
    started = (NOW - timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"type": kind, "phase": "Pending", "displayName": name, "message": message, "startedAt": started}


UNSCHEDULABLE = "Unschedulable: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu."


def test_a_pod_that_finds_no_node_is_told_and_taken_back(forge: LocalForge, namespace: Namespace) -> None:
    head = commit(forge, "main")
    run = push_run(head, MAIN)
    forge.set_status(head, Status("gpulab/push", "pending", "running", run))
    namespace.add(run, head, "Running", nodes=[node(UNSCHEDULABLE, 42)])
    mend(forge, namespace)
    said = forge.statuses(head)["gpulab/push"]
    assert said == Status(
        "gpulab/push", "pending", f"{WAITS}: verify on t4 since 11:18 UTC: {UNSCHEDULABLE}"[:140], run
    )
    assert missed(facts(forge, namespace)) == []
    namespace.add(run, head, "Running", nodes=[node("", 0)])
    mend(forge, namespace)
    assert forge.statuses(head)["gpulab/push"] == Status("gpulab/push", "pending", "running", run)


def test_a_run_whose_first_pod_waits_is_told_too(forge: LocalForge, namespace: Namespace) -> None:
    head = commit(forge, "main")
    namespace.add(push_run(head, MAIN), head, "Running", nodes=[node("", 11)])
    mend(forge, namespace)
    said = forge.statuses(head)["gpulab/push"]
    assert (said.state, said.description.endswith("its queue holds it")) == ("pending", True)


@pytest.mark.parametrize("one", [node("", 9), node("", 60, "Retry")])
def test_a_pod_that_has_just_begun_to_wait_is_not_told(forge: LocalForge, namespace: Namespace, one: Any) -> None:
    head = commit(forge, "main")
    namespace.add(push_run(head, MAIN), head, "Running", nodes=[one])
    assert missed(facts(forge, namespace)) == []


def test_a_forge_is_asked_about_few_commits(forge: LocalForge, namespace: Namespace) -> None:
    """A hundred old branches with their runs cost nothing; the head of main, fresh runs and runless heads do."""
    for number in range(100):
        old = commit(forge, f"old-{number}", f"old {number}")
        namespace.add(push_run(old, f"refs/heads/old-{number}"), old, "Failed", LATELY)
    head, fresh, bare = (commit(forge, branch, branch) for branch in ("main", "fresh", "bare"))
    namespace.add(push_run(head, MAIN), head, "Succeeded", LATELY)
    namespace.add(push_run(fresh, "refs/heads/fresh"), fresh, "Failed", timedelta(hours=1))
    counting = Counting(forge.home, lambda event: None)
    cluster_facts(SLUG, counting, namespace.all, NOW)
    assert sorted(counting.asked) == sorted([head, fresh, bare])


@pytest.mark.parametrize("status", [404, 422, 403])
def test_a_commit_that_is_gone_stops_nothing_and_a_forge_that_refuses_does(
    forge: LocalForge, namespace: Namespace, status: int
) -> None:
    class Forgetful(LocalForge):
        def statuses(self, revision: str) -> dict[str, Status]:
            if revision == "b" * 40:
                raise RefusedError("statuses", status, "no")
            return super().statuses(revision)

    head = commit(forge, "main")
    namespace.add("push-bbbbbbbbbbbb-000000", "b" * 40, "Failed")
    if status == 403:
        with pytest.raises(RefusedError):
            mend(Forgetful(forge.home, forge.deliver), namespace)
        return
    assert mend(Forgetful(forge.home, forge.deliver), namespace) == []
    assert push_run(head, MAIN) in namespace.found


def test_a_deploy_branch_and_a_promotion_are_looked_after(
    forge: LocalForge, namespace: Namespace, release: Release
) -> None:
    source = release.source
    forge.set_status(source, Status("gpulab/push", "success", "PASS", push_run(source, MAIN)))
    namespace.add(push_run(source, MAIN), source, "Succeeded")
    teaching = forge.commit(TEACHING, {RELEASE: release.to_json()}, "release", None)
    head = forge.commit("promote/x", {RELEASE: release.to_json()}, "promote", None)
    forge.open_pull_request("deploy/production", "promote/x", "t", "b")
    mend(forge, namespace)
    assert {sync_run("teaching", teaching), promotion_run(head)} <= set(namespace.found)
    namespace.add(promotion_run(head), head, "Error")
    mend(forge, namespace)
    assert forge.statuses(head)[PROMOTION_CHECK].state == "error"


def test_main_set_back_to_what_passed_is_released_again(
    forge: LocalForge, namespace: Namespace, release: Release
) -> None:
    source = release.source
    forge.set_status(source, Status("gpulab/push", "success", "PASS", push_run(source, MAIN)))
    namespace.add(push_run(source, MAIN), source, "Succeeded")
    mend(forge, namespace)
    assert f"{push_run(source, MAIN)}-2" in namespace.found  # it passed, and teaching never ran it


def test_teachings_releases_are_read_as_far_as_mains_head(
    forge: LocalForge, namespace: Namespace, release: Release
) -> None:
    parent = None
    for number in range(RELEASES + 5):
        parent = forge.commit(TEACHING, {RELEASE: release.to_json(), "n": str(number).encode()}, "release", parent)
    namespace.add(push_run(release.source, MAIN), release.source, "Succeeded")
    assert facts(forge, namespace).released == [release.source]


def test_one_that_cannot_be_mended_does_not_keep_the_others(forge: LocalForge, namespace: Namespace) -> None:
    class Refusing(Namespace):
        def start(self, name: str, template: str, parameters: Mapping[str, str]) -> None:
            if parameters["ref"] == MAIN:
                raise step.PlatformError("quota")
            super().start(name, template, parameters)

    refusing = Refusing()
    commit(forge, "main")
    other = commit(forge, "topic", "topic")
    assert mend(forge, refusing) == ["quota"]
    assert push_run(other, "refs/heads/topic") in refusing.found


def test_the_schedule_refers_to_the_pipeline_of_the_same_version() -> None:
    cron, template = schedule_document(SLUG, Settings()), pipeline_document("reconcile", Settings())
    assert cron["spec"]["workflowSpec"]["workflowTemplateRef"]["name"] == template["metadata"]["name"]
    assert cron["spec"]["concurrencyPolicy"] == "Forbid"
    (task,) = template["spec"]["templates"][-1]["dag"]["tasks"]
    assert {"name": "version", "value": "v0-1-0"} in task["arguments"]["parameters"]


def test_projects_are_spread_over_the_minutes() -> None:
    assert {pipeline.minute(f"lab-{number}") for number in range(60)} == set(range(pipeline.EVERY))
