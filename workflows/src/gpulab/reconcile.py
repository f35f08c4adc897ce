"""What was missed, and what mends it: events that got lost, runs that ended without a word, releases that vanished.

A webhook may be dropped, and an exit handler is not run for a run that is killed. Pure: from facts to actions. Doing
the actions and asking again gives none: nothing is tried twice by itself, so that a run that always fails does not
run for ever.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gpulab.errors import one_line
from gpulab.events import (
    MAIN,
    PRODUCTION,
    TEACHING,
    Event,
    PullRequestEvent,
    PushEvent,
    Submission,
    attempt,
    context_of,
    push_context,
    select,
)
from gpulab.forges.protocol import PullRequest, Status

WAITS = "waits for a place to run"
"""How a status begins whose run waits for long: no node has room, a queue holds it, an image cannot be pulled."""

LOST = "the platform lost it before it ended; this counts against nobody. Type `gpulab run` to try again"


@dataclass(frozen=True)
class Run:
    """A run that was started.

    Attributes:
        live: it waits or runs.
        passed: its verdict is PASS.
        waiting: which pod waits, since when and why, once that takes long; empty otherwise.
    """

    name: str
    live: bool
    passed: bool = False
    waiting: str = ""


@dataclass(frozen=True)
class Facts:
    """What forge and engine say.

    Attributes:
        heads: every branch and its commit.
        messages: of those commits.
        runs: every run that the engine knows.
        statuses: by commit, then context; of all commits whose runs may have left something open.
        released: the commits that `deploy/teaching` ever released, newest first.
        contained: those of them that main still contains.
    """

    project: str
    heads: Mapping[str, str]
    messages: Mapping[str, str]
    runs: Sequence[Run]
    statuses: Mapping[str, Mapping[str, Status]]
    pulls: Sequence[PullRequest] = ()
    released: Sequence[str] = ()
    contained: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Start:
    """Start a workflow; its name is the next attempt's, so that two who find the same start it once."""

    submission: Submission
    why: str


@dataclass(frozen=True)
class Say:
    """Set a commit's status."""

    revision: str
    status: Status

    @property
    def why(self) -> str:
        """What is said."""
        return self.status.description


Action = Start | Say


def missed(facts: Facts) -> list[Action]:
    """Everything that was missed, in a fixed order."""
    found = [action for event in _due(facts) for action in _about(facts, event)]
    settled = {_where(action) for action in found}
    return [*found, *(say for say in _lost(facts) if _where(say) not in settled)]


def _where(action: Action) -> tuple[str, str]:
    """The status that an action sets: commit and context."""
    if isinstance(action, Say):
        return action.revision, action.status.context
    return action.submission.parameters["revision"], context_of(action.submission)


def _due(facts: Facts) -> Iterator[Event]:
    """The events that must have come for what is there now."""
    for branch, commit in sorted(facts.heads.items()):
        yield PushEvent(f"refs/heads/{branch}", "", commit, facts.messages.get(commit, ""))
    asking = {pull.head: pull for pull in facts.pulls if pull.state == "open" and pull.base == PRODUCTION}
    for pull in asking.values():  # two that ask for the same are checked once
        yield PullRequestEvent(pull.number, pull.base, pull.head)


def _about(facts: Facts, event: Event) -> Iterator[Action]:
    chosen = select(event, facts.project)
    if isinstance(chosen, Submission):
        yield from _about_run(facts, chosen)
    elif chosen.tell and isinstance(event, PushEvent):
        context = push_context(event.ref)
        if context not in facts.statuses.get(event.after, {}):
            yield Say(event.after, Status(context, "error", chosen.reason[:140], ""))


def _about_run(facts: Facts, due: Submission) -> Iterator[Action]:
    revision, context = due.parameters["revision"], context_of(due)
    mine = [run for run in facts.runs if attempt(run.name, due.name)]
    runs = sorted(mine, key=lambda run: attempt(run.name, due.name))
    said = facts.statuses.get(revision, {}).get(context)
    live = [run for run in runs if run.live]
    if live:
        yield from _waiting(live[-1], revision, context, said)
        return
    if not runs and said is None:
        yield Start(due, f"{_place(due)} is at {revision[:12]}, and no run was ever started for it")
    elif runs and runs[-1].passed and vanished(facts, due):
        again = replace(due, name=f"{due.name}-{attempt(runs[-1].name, due.name) + 1}")
        yield Start(again, f"main is back at {revision[:12]}, which passed, and teaching runs something else")
    elif runs and said is None:
        yield Say(revision, Status(context, "error", LOST, runs[-1].name))


def _waiting(run: Run, revision: str, context: str, said: Status | None) -> Iterator[Say]:
    """A run that waits says so, and no more than that; the text is taken back when it goes on."""
    known = said.description if said else ""
    if said is not None and (said.state, said.run) != ("pending", run.name):
        return
    text = one_line(f"{WAITS}: {run.waiting}", 140) if run.waiting else "running" if known.startswith(WAITS) else known
    if text != known:
        yield Say(revision, Status(context, "pending", text, run.name))


def vanished(facts: Facts, due: Submission) -> bool:
    """Whether main's head should be released once more: main was set back to it by force.

    It was never released, or teaching runs a commit that main no longer contains. A rollback is neither: the head was
    released, and main contains what came back.
    """
    revision = due.parameters["revision"]
    if due.pipeline != "push" or facts.heads.get("main") != revision or due.parameters["ref"] != MAIN:
        return False
    return revision not in facts.released or facts.released[0] not in facts.contained


def _lost(facts: Facts) -> Iterator[Say]:
    """Statuses that nobody will close any more."""
    live = {run.name for run in facts.runs if run.live}
    for revision, said in sorted(facts.statuses.items()):
        for _, status in sorted(said.items()):
            if status.state == "pending" and status.run not in live:
                yield Say(revision, replace(status, state="error", description=LOST))


def _place(due: Submission) -> str:
    match due.pipeline:
        case "push":
            return due.parameters["ref"].removeprefix("refs/heads/")
        case "sync":
            return TEACHING if due.parameters["environment"] == "teaching" else PRODUCTION
        case "verify-promotion":
            return "a pull request to production"
