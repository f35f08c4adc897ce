"""Which event starts which workflow. Events are hostile: only a full commit id and a matched ref get through.

`select` decides for the local forge; `bindings` says the same to Argo's server as WorkflowEventBindings. Any text is a
legal branch name for git, `$(TOKEN)` and `{{=6*7}}` too, which the kubelet and Argo would expand.

Who pushed is never asked: author, committer and pusher are free text of whoever writes them. The platform's own pushes
are told by their refs, `deploy/*` and `promote/*`, which start no build; the bot writes no other branch.
"""

import hashlib
import re
from dataclasses import dataclass
from typing import Literal

PUSHED_REF = r"^refs/heads/[A-Za-z0-9._/-]{1,200}$"
COMMIT_ID = r"^[0-9a-f]{40}$"
RESERVED = r"^refs/heads/(?i:deploy|promote)(/|$)"
"""The platform's branches, in any case: some file systems take `Deploy` for `deploy`."""

SKIP = r"^.*\[(?i:skip ci|ci skip)\]"
"""Found in the first line of a message (`.` matches no line break): the pusher asks for no run."""

NOTHING_RELEASED = "104964981c631bfa1b53ea7e1d6feeb192901933"
"""The empty commit that a hosted forge's deploy branches begin with (`forges.start`)."""

MAIN = "refs/heads/main"
PUSH_CHECK, BRANCH_CHECK, PROMOTION_CHECK = "gpulab/push", "gpulab/check", "gpulab/verify-promotion"
ENVIRONMENTS = ("teaching", "production")
TEACHING, PRODUCTION = (f"deploy/{environment}" for environment in ENVIRONMENTS)
PROMOTE = "promote/"
NAMES = "letters, digits, dot, dash, underscore and slash, at most 200"
Pipeline = Literal["push", "sync", "verify-promotion"]


@dataclass(frozen=True)
class PushEvent:
    """A ref moved from `before` to `after` (40 zeros: it was created, or deleted).

    Attributes:
        message: the message of the commit `after`; only its first line is looked at.
    """

    ref: str
    before: str
    after: str
    message: str = ""


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

    pipeline: Pipeline
    name: str
    parameters: dict[str, str]


@dataclass(frozen=True)
class Refusal:
    """Why an event starts nothing, in words for the person who pushed.

    Attributes:
        tell: whether the commit's status must say it: somebody may be waiting for a verdict.
    """

    reason: str
    tell: bool = False


def select(event: Event, project: str) -> Submission | Refusal:
    """The workflow that an event starts, or why it starts none."""
    if isinstance(event, PullRequestEvent):
        return _pull_request(event, project)
    if re.fullmatch(COMMIT_ID[1:-1], event.after) is None:
        return Refusal("the event names no full commit id")
    if deletes(event):
        return Refusal("the branch was deleted: nothing to run")
    if event.ref.startswith("refs/tags/"):
        return Refusal("a tag starts no run; the branch that it marks was judged when it was pushed")
    if re.fullmatch(PUSHED_REF[1:-1], event.ref) is None:
        return Refusal(f"only branches whose names use {NAMES} characters, start runs", event.ref[:11] == "refs/heads/")
    if re.match(RESERVED, event.ref):
        return _sync(event, project)
    if re.match(SKIP, event.message):
        return Refusal("skipped, as its subject asks; nothing was judged. To judge it, type: gpulab run", tell=True)
    parameters = {"project": project, "revision": event.after, "ref": event.ref}
    return Submission("push", push_run(event.after, event.ref), parameters)


def _sync(event: PushEvent, project: str) -> Submission | Refusal:
    branch = event.ref.removeprefix("refs/heads/")
    if event.after == NOTHING_RELEASED:
        return Refusal(f"{branch} holds no release yet")
    if branch.startswith(PROMOTE):
        return Refusal(f"{branch} is checked through its pull request")
    environment = branch.removeprefix("deploy/")
    if environment not in ENVIRONMENTS or branch == environment:
        return Refusal(f"{branch} is no environment; there are {', '.join(ENVIRONMENTS)}")
    parameters = {"project": project, "revision": event.after, "environment": environment}
    return Submission("sync", sync_run(environment, event.after), parameters)


def _pull_request(event: PullRequestEvent, project: str) -> Submission | Refusal:
    if event.base != PRODUCTION or re.fullmatch(COMMIT_ID[1:-1], event.head) is None:
        return Refusal("only pull requests to deploy/production are checked")
    return Submission("verify-promotion", promotion_run(event.head), {"project": project, "revision": event.head})


def deletes(event: PushEvent) -> bool:
    """Whether the ref is gone: git and every forge say so with 40 zeros."""
    return set(event.after) == {"0"}


def push_context(ref: str) -> str:
    """The commit status of a pushed branch; a check of another branch must not overwrite main's verdict."""
    return PUSH_CHECK if ref == MAIN else BRANCH_CHECK


def sync_context(environment: str) -> str:
    """The commit status in which a sync of an environment tells its outcome."""
    return f"gpulab/sync-{environment}"


def push_run(revision: str, ref: str) -> str:
    """The name of the run of a commit on a branch, e.g. `push-0a1b2c3d4e5f-9f86d0`."""
    return f"push-{revision[:12]}-{hashlib.sha256(ref.encode()).hexdigest()[:6]}"


def sync_run(environment: str, revision: str) -> str:
    """The name of the run that syncs a commit of a deploy branch."""
    return f"sync-{environment}-{revision[:12]}"


def promotion_run(head: str) -> str:
    """The name of the run that checks the head of a promotion."""
    return f"promotion-{head[:12]}"


def attempt(name: str, base: str) -> int:
    """Which attempt a run is at what the name `base` stands for, from 1 (`…-2` is the second); 0 when it is none."""
    if name == base:
        return 1
    counted = re.fullmatch(rf"{re.escape(base)}-([1-9]\d{{0,5}})", name, re.ASCII)
    return int(counted[1]) if counted else 0


def context_of(submission: Submission) -> str:
    """The commit status in which a workflow tells its outcome, on the commit `revision`."""
    match submission.pipeline:
        case "push":
            return push_context(submission.parameters["ref"])
        case "sync":
            return sync_context(submission.parameters["environment"])
        case "verify-promotion":
            return PROMOTION_CHECK
