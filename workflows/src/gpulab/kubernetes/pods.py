"""Why a pod does not run, in words; pure functions of its status.

See https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Pod = Mapping[str, Any]

CANNOT_START = {
    "ErrImagePull": "the image cannot be pulled",
    "ImagePullBackOff": "the image cannot be pulled",
    "InvalidImageName": "the image has no valid name",
    "ErrImageNeverPull": "the image is not on the node, and must not be pulled",
    "CreateContainerConfigError": "a ConfigMap or Secret that it names is missing",
    "CreateContainerError": "the container cannot be created",
    "RunContainerError": "the container cannot be started",
}
"""Reasons of a waiting container, which the platform or the manifests have to mend; the code has not run."""

CRASHING = "CrashLoopBackOff"


@dataclass(frozen=True)
class Trouble:
    """What keeps a pod from running.

    Attributes:
        message: in words.
        container: that ended and has a log to read; empty when none has run.
    """

    message: str
    container: str = ""


def trouble(pod: Pod) -> Trouble | None:
    """The first thing that keeps a pod from being ready; None when it just takes its time."""
    return next(_troubles(pod), None)


def _troubles(pod: Pod) -> Iterator[Trouble]:
    status = pod.get("status") or {}
    if status.get("phase") == "Failed" and status.get("reason"):
        yield Trouble(f"pod {name_of(pod)} was lost: {status['reason']}: {status.get('message', '')}".rstrip(": "))
    for condition in status.get("conditions") or []:
        if condition.get("reason") == "Unschedulable":
            yield Trouble(f"no node takes pod {name_of(pod)}: {condition.get('message', '')}")
    for container in statuses(pod):
        waiting = (container.get("state") or {}).get("waiting") or {}
        reason, detail = waiting.get("reason", ""), waiting.get("message", "")
        if reason == CRASHING:
            yield Trouble(f"container {container['name']} {how_it_ended(container)}", container["name"])
        elif reason in CANNOT_START:
            yield Trouble(f"container {container['name']}: {CANNOT_START[reason]} ({reason}: {detail})")


def statuses(pod: Pod) -> list[Mapping[str, Any]]:
    """The status of each container, init containers first."""
    status = pod.get("status") or {}
    return [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]


def ended(container: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """How a container ended last; None when it never did."""
    for state in ("state", "lastState"):
        if (terminated := (container.get(state) or {}).get("terminated")) is not None:
            found: Mapping[str, Any] = terminated
            return found
    return None


def how_it_ended(container: Mapping[str, Any]) -> str:
    """`ended 3 times, last with exit code 137 (OOMKilled)`."""
    last, times = ended(container) or {}, container.get("restartCount", 0)
    why = f"exit code {last.get('exitCode', 'unknown')} ({last.get('reason', 'no reason')})"
    return f"ended {times} times, last with {why}" if times > 1 else f"ended with {why}"


def name_of(pod: Pod) -> str:
    """Its name."""
    return str((pod.get("metadata") or {}).get("name", ""))
