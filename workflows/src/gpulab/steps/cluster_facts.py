"""What `gpulab.reconcile` must know, from a forge and the Workflows of a namespace.

A forge is asked about few commits: the heads that may lack a run, and those of runs that live or ended lately. What a
run of long ago left open was closed when it was young.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from gpulab.clusters.workflows import Json, nodes_of
from gpulab.errors import InputError
from gpulab.events import MAIN, PRODUCTION, TEACHING, PushEvent, Submission, attempt, promotion_run, push_run, select
from gpulab.forges.http import RefusedError
from gpulab.forges.protocol import Forge, Status
from gpulab.node_names import plain
from gpulab.reconcile import Facts, Run
from gpulab.steps.release_file import RELEASE, read_release

LATELY = timedelta(days=1)
PATIENCE = timedelta(minutes=10)
"""A pod that waits for longer is told of: pulling a large image onto a new node takes a few minutes."""

RELEASES = 50
"""So many of teaching's releases are looked through for main's head."""

LIVE = ("", "Pending", "Running")


@dataclass(frozen=True)
class Seen:
    """A Workflow.

    Attributes:
        revision: the commit that it is about.
        lately: it lives, or ended less than LATELY ago.
    """

    run: Run
    revision: str
    lately: bool


def cluster_facts(project: str, forge: Forge, listed: Callable[[], Sequence[Json]], now: datetime) -> Facts:
    """Everything that may have been missed.

    Args:
        project: its slug.
        forge: asked between two lists of the Workflows: what a run says before it ends is then never taken for
            something that no run will close.
        listed: lists the Workflows of the project's namespace.
        now: with time zone.
    """
    before = [seen(one, now) for one in listed()]
    heads = {ref: head for ref, head in forge.heads().items() if concerns(project, ref, head, before)}
    pulls = [pull for pull in forge.pull_requests() if pull.state == "open" and pull.base == PRODUCTION]
    fresh = [pull for pull in pulls if may_lack(promotion_run(pull.head), before)]
    asked = {*heads.values(), *(pull.head for pull in fresh), *(one.revision for one in before if one.lately)}
    statuses = {commit: said(forge, commit) for commit in sorted(asked - {""})}
    released = sources(forge, heads["main"]) if passed(heads.get("main", ""), before) else []
    return Facts(
        project=project,
        heads=heads,
        messages={commit: forge.message(commit) for commit in sorted({*heads.values()}) if not statuses[commit]},
        runs=[seen(one, now).run for one in listed()],
        statuses=statuses,
        pulls=fresh,
        released=released,
        contained=frozenset(one for one in released[:1] if forge.is_ancestor(one, MAIN)),
    )


def said(forge: Forge, commit: str) -> dict[str, Status]:
    """The statuses of a commit; none of one that was thrown away by force and is gone from the forge."""
    try:
        return forge.statuses(commit)
    except RefusedError as error:
        if error.status not in (404, 422):
            raise
        return {}


def concerns(project: str, branch: str, head: str, known: Sequence[Seen]) -> bool:
    """Whether a head may want something: main always, others while their run is missing, lives or is fresh."""
    due = select(PushEvent(f"refs/heads/{branch}", "", head), project)
    if not isinstance(due, Submission):
        return due.tell
    return branch == "main" or may_lack(due.name, known)


def may_lack(due: str, known: Sequence[Seen]) -> bool:
    """Whether the run `due` is missing, or was there lately."""
    mine = [one for one in known if attempt(one.run.name, due)]
    return not mine or any(one.lately for one in mine)


def passed(head: str, known: Sequence[Seen]) -> bool:
    """Whether a run of main's head passed."""
    return any(one.run.passed and attempt(one.run.name, push_run(head, MAIN)) for one in known)


def sources(forge: Forge, head: str) -> list[str]:
    """The commits that teaching released, newest first, as far as main's head; what cannot be read is left out."""
    found: list[str] = []
    for commit in islice(forge.history(TEACHING), RELEASES):
        try:
            found.append(read_release(forge.read(commit, RELEASE), commit[:12]).source)
        except InputError:
            continue
        if found[-1] == head:
            break
    return found


def seen(workflow: Mapping[str, Any], now: datetime) -> Seen:
    """A Workflow as the Kubernetes API gives it. A push run succeeds just when its verdict is PASS."""
    name, status = workflow["metadata"]["name"], workflow.get("status") or {}
    phase = status.get("phase") or ""
    live = phase in LIVE
    given = (workflow["spec"].get("arguments") or {}).get("parameters") or []
    revision = next((str(one.get("value", "")) for one in given if one["name"] == "revision"), "")
    run = Run(
        name,
        live,
        passed=name.startswith("push-") and phase == "Succeeded",
        waiting=next(waiting(status, now), "") if live else "",
    )
    return Seen(run, revision, live or now - _time(status.get("finishedAt"), now) < LATELY)


def waiting(status: Mapping[str, Any], now: datetime) -> Iterator[str]:
    """The pods that wait for longer than PATIENCE, with the reason that Argo has from Kubernetes."""
    for node in nodes_of(status).values():
        since = _time(node.get("startedAt"), now)
        if node.get("type") == "Pod" and node.get("phase") == "Pending" and now - since > PATIENCE:
            where = plain(str(node.get("displayName", "")))
            why = node.get("message") or "its queue holds it"
            yield f"{where} since {since:%H:%M} UTC: {why}"


def _time(text: str | None, default: datetime) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC) if text else default
