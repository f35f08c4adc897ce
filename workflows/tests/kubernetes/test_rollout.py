"""Is it rolled out, and why not: pure functions of what an API server says."""

from typing import Any

import pytest
from gpulab.clusters.kubernetes.rollout import late, rollout

Json = dict[str, Any]


def deployment(generation: int = 2, observed: int = 2, late: bool = False, **counts: int) -> Json:
    reason = "ProgressDeadlineExceeded" if late else "ReplicaSetUpdated"
    return {
        "metadata": {"name": "app", "generation": generation},
        "spec": {"replicas": 2},
        "status": {
            "observedGeneration": observed,
            **counts,
            "conditions": [{"type": "Progressing", "status": "False" if late else "True", "reason": reason}],
        },
    }


def pod(name: str, state: Json, restarts: int = 0, ready: bool = False, created: str = "2", **more: Any) -> Json:
    container = {"name": "serve", "restartCount": restarts, "state": state, **more}
    conditions = [{"type": "Ready", "status": str(ready)}]
    metadata = {"name": name, "creationTimestamp": created}
    return {"metadata": metadata, "status": {"conditions": conditions, "containerStatuses": [container]}}


RUNNING: Json = {"running": {}}
PULLING = {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}}
CRASHED = {"waiting": {"reason": "CrashLoopBackOff"}}
KILLED = {"lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}
UNSCHEDULABLE = {
    "metadata": {"name": "app-1", "creationTimestamp": "2"},
    "status": {"conditions": [{"type": "PodScheduled", "reason": "Unschedulable", "message": "0/3 nodes: no GPU"}]},
}


def test_done_when_every_pod_is_the_new_one_and_ready() -> None:
    found = rollout(deployment(updatedReplicas=2, replicas=2, availableReplicas=2), [])
    assert (found.state, found.message) == ("done", "2 of 2 pods are ready")


@pytest.mark.parametrize(
    "counts",
    [
        {"updatedReplicas": 1, "replicas": 2, "availableReplicas": 2},
        {"updatedReplicas": 2, "replicas": 3, "availableReplicas": 2},  # an old pod is still there
        {"updatedReplicas": 2, "replicas": 2, "availableReplicas": 1},
        {},
    ],
)
def test_otherwise_it_waits(counts: dict[str, int]) -> None:
    assert rollout(deployment(**counts), []).state == "waiting"


def test_old_news_is_no_news() -> None:
    """The status is of the Deployment before: its pods are ready, and none of them is new."""
    found = rollout(deployment(observed=1, updatedReplicas=2, replicas=2, availableReplicas=2), [])
    assert found.state == "waiting"


def test_a_crashing_container_ends_the_wait() -> None:
    found = rollout(deployment(), [pod("app-1", CRASHED, restarts=2, **KILLED)])
    assert found.message == "container serve ended 2 times, last with exit code 137 (OOMKilled)"
    assert (found.state, found.pod, found.container) == ("failed", "app-1", "serve")


def test_one_crash_may_be_bad_luck() -> None:
    assert rollout(deployment(), [pod("app-1", CRASHED, restarts=1, **KILLED)]).state == "waiting"


def test_an_old_pod_that_crashed_and_serves_again_is_no_reason() -> None:
    old = pod("app-0", RUNNING, restarts=9, ready=True, created="1", **KILLED)
    assert rollout(deployment(), [old, pod("app-1", {"waiting": {"reason": "ContainerCreating"}})]).state == "waiting"


@pytest.mark.parametrize(
    ("pods", "state", "told"),
    [
        ([pod("app-1", PULLING)], "trouble", "container serve: the image cannot be pulled (ImagePullBackOff: Back-off"),
        ([UNSCHEDULABLE], "trouble", "no node takes pod app-1: 0/3 nodes: no GPU"),
        ([pod("app-1", CRASHED, restarts=1, **KILLED)], "failed", "container serve ended with exit code 137"),
        ([pod("app-1", RUNNING)], "failed", "container serve runs, but was not ready in time"),
        ([pod("app-1", {"waiting": {"reason": "ContainerCreating"}})], "trouble", "pod app-1 did not start in time"),
        ([], "trouble", "the Deployment has no pods"),
        ([pod("app-0", RUNNING, ready=True, created="1"), pod("app-1", PULLING)], "trouble", "cannot be pulled"),
    ],
)
def test_whose_fault_it_is_when_time_is_up(pods: list[Json], state: str, told: str) -> None:
    for found in (late(deployment(), pods), rollout(deployment(late=True), pods)):
        assert found.state == state
        assert told in found.message
