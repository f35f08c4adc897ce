"""Is a Deployment rolled out, and if not, why? Pure functions of what the API server says.

The rules are those of `kubectl rollout status`:
https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#deployment-status.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gpulab.kubernetes.pods import Pod, Trouble, ended, how_it_ended, name_of, statuses, trouble

State = Literal["done", "waiting", "failed", "trouble"]

CRASHES = 2
"""Restarts of one container after which a rollout is given up, without waiting for its deadline."""


@dataclass(frozen=True)
class Rollout:
    """How far it is.

    Attributes:
        state: `failed` is the release's own doing, `trouble` the platform's (no image, no node).
        message: in words.
        pod: whose log tells more; empty when none does.
        container: of that pod.
    """

    state: State
    message: str
    pod: str = ""
    container: str = ""


def rollout(deployment: Mapping[str, Any], pods: Sequence[Pod]) -> Rollout:
    """How far a Deployment is, given the pods that its selector finds."""
    status, wanted = deployment.get("status") or {}, deployment["spec"].get("replicas", 1)
    if status.get("observedGeneration", 0) < deployment["metadata"].get("generation", 1):
        return Rollout("waiting", "not seen by the Deployment controller yet")
    updated, available = status.get("updatedReplicas", 0), status.get("availableReplicas", 0)
    if updated == available == status.get("replicas", 0) == wanted:
        return Rollout("done", f"{wanted} of {wanted} pods are ready")
    crashed = next((pod for pod in _newest(pods) if _crashes(pod) >= CRASHES), None)
    if crashed is not None:
        return _failed(crashed)
    if _deadline_exceeded(status):
        return _late(pods)
    return Rollout("waiting", f"{available} of {wanted} pods are ready")


def late(deployment: Mapping[str, Any], pods: Sequence[Pod]) -> Rollout:
    """The same when nobody waits any longer."""
    now = rollout(deployment, pods)
    return _late(pods) if now.state == "waiting" else now


def _late(pods: Sequence[Pod]) -> Rollout:
    """Given up: the pods say why. One that runs and is not ready fails by its own fault."""
    for pod in _newest(pods):
        found = trouble(pod)
        if found is not None:
            state: State = "failed" if found.container else "trouble"
            return Rollout(state, found.message, name_of(pod), found.container)
    unready = next((pod for pod in _newest(pods) if not _is_ready(pod)), None)
    if unready is None:
        return Rollout("trouble", "the Deployment has no pods")
    running = next((one["name"] for one in statuses(unready) if "running" in (one.get("state") or {})), "")
    if not running:
        return Rollout("trouble", f"pod {name_of(unready)} did not start in time")
    return Rollout("failed", f"container {running} runs, but was not ready in time", name_of(unready), running)


def _failed(pod: Pod) -> Rollout:
    container = max(statuses(pod), key=lambda one: int(one.get("restartCount", 0)))
    told = Trouble(f"container {container['name']} {how_it_ended(container)}", container["name"])
    return Rollout("failed", told.message, name_of(pod), told.container)


def _crashes(pod: Pod) -> int:
    """How often a container of a pod that is not ready ended by itself."""
    if _is_ready(pod):
        return 0
    return max((int(one.get("restartCount", 0)) for one in statuses(pod) if ended(one)), default=0)


def _newest(pods: Sequence[Pod]) -> list[Pod]:
    return sorted(pods, key=lambda pod: str(pod["metadata"].get("creationTimestamp", "")), reverse=True)


def _is_ready(pod: Pod) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)


def _deadline_exceeded(status: Mapping[str, Any]) -> bool:
    return any(
        one.get("type") == "Progressing" and one.get("reason") == "ProgressDeadlineExceeded"
        for one in status.get("conditions") or []
    )
