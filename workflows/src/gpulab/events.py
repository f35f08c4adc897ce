"""Which event starts which workflow. Events are hostile: only a full commit id and a matched ref get through.

`select` decides for the local forge; `bindings` says the same to Argo's server as WorkflowEventBindings. Any text is a
legal branch name for git, `$(TOKEN)` and `{{=6*7}}` too, which the kubelet and Argo would expand.
"""

import hashlib
import re
from dataclasses import dataclass
from typing import Literal

PUSHED_REF = r"^refs/heads/[A-Za-z0-9._/-]{1,200}$"
COMMIT_ID = r"^[0-9a-f]{40}$"
PROMOTION_CHECK = "gpulab/verify-promotion"
ENVIRONMENTS = ("teaching", "production")
TEACHING, PRODUCTION = (f"deploy/{environment}" for environment in ENVIRONMENTS)


@dataclass(frozen=True)
class PushEvent:
    """A ref moved from `before` to `after` (40 zeros: it was created, or deleted)."""

    ref: str
    before: str
    after: str


@dataclass(frozen=True)
class PullRequestEvent:
    """A pull request was opened or its head changed."""

    number: int
    base: str
    head: str


Event = PushEvent | PullRequestEvent


@dataclass(frozen=True)
class Submission:
    """A workflow to start. The name is derived from the event, so that a replay is refused as already existing."""

    pipeline: Literal["push", "sync", "verify-promotion"]
    name: str
    parameters: dict[str, str]


@dataclass(frozen=True)
class Refusal:
    """Why an event starts nothing, in words for the person who pushed."""

    reason: str


def select(event: Event, project: str) -> Submission | Refusal:
    """The workflow that an event starts, or why it starts none."""
    if isinstance(event, PullRequestEvent):
        return _pull_request(event, project)
    if re.fullmatch(COMMIT_ID[1:-1], event.after) is None:
        return Refusal("the event names no full commit id")
    if set(event.after) == {"0"}:
        return Refusal("the branch was deleted: nothing to run")
    if re.fullmatch(PUSHED_REF[1:-1], event.ref) is None:
        return Refusal(
            "only branches whose names use letters, digits, dot, dash, underscore and slash (at most 200) start runs"
        )
    return _push(event, project)


def _push(event: PushEvent, project: str) -> Submission | Refusal:
    branch = event.ref.removeprefix("refs/heads/")
    if branch == "main":
        parameters = {"project": project, "revision": event.after, "ref": event.ref}
        return Submission("push", push_run(event.after, event.ref), parameters)
    if branch.startswith("deploy/"):
        environment = branch.removeprefix("deploy/")
        if environment not in ENVIRONMENTS:
            return Refusal(f"{branch} is no environment; there are {', '.join(ENVIRONMENTS)}")
        parameters = {"project": project, "revision": event.after, "environment": environment}
        return Submission("sync", f"sync-{environment}-{event.after[:12]}", parameters)
    return Refusal(f"{branch} is not main: only main is built, judged and released")


def _pull_request(event: PullRequestEvent, project: str) -> Submission | Refusal:
    if event.base != PRODUCTION or re.fullmatch(COMMIT_ID[1:-1], event.head) is None:
        return Refusal("only pull requests to deploy/production are checked")
    return Submission("verify-promotion", f"promotion-{event.head[:12]}", {"project": project, "revision": event.head})


def sync_context(environment: str) -> str:
    """The commit status in which a sync of an environment tells its outcome."""
    return f"gpulab/sync-{environment}"


def push_run(revision: str, ref: str) -> str:
    """The name of the run of a commit on a branch, e.g. `push-0a1b2c3d4e5f-9f86d0`."""
    return f"push-{revision[:12]}-{hashlib.sha256(ref.encode()).hexdigest()[:6]}"
