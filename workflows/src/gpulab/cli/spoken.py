"""Runs as the commit statuses of a forge tell of them: all that is known without Argo."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice

from gpulab.cli.remote_runs import PHASES, about, as_change
from gpulab.engines.protocol import Change, Phase
from gpulab.events import BRANCH_CHECK, PUSH_CHECK, Submission, attempt, context_of
from gpulab.forges.local.git import Git
from gpulab.forges.protocol import Forge, Status

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 15.0
"""Seconds between two questions to a forge."""

SHOWN = 5
"""Commits of a branch that are looked through."""


def pauses(sleep: Callable[[float], object], patience: float = float("inf")) -> Iterator[None]:
    """Ever longer pauses, each after a turn, until the patience (in seconds) is at its end."""
    waited, pause = 0.0, FIRST_PAUSE
    while waited <= patience:
        yield
        sleep(pause)
        waited, pause = waited + pause, min(pause * 1.5, LONGEST_PAUSE)


@dataclass(frozen=True)
class Spoken:
    """The statuses of one project; `git` is the working tree, which knows the commits by their beginnings."""

    forge: Forge
    git: Git
    sleep: Callable[[float], object]

    def said(self, run: str) -> Status | None:
        """What a run says now; None when it says nothing, or a later attempt speaks in its place."""
        known, revision = about(run), self.commit(run)
        said = self.forge.statuses(revision).get(known.context) if known and revision else None
        return said if said is not None and said.run == run else None

    def commit(self, run: str) -> str | None:
        """The full id of the commit that a run is about: one that is here, or the head of a branch of the forge."""
        known = about(run)
        if known is None:
            return None
        heads = (one for one in self.forge.heads().values() if one.startswith(known.commit))
        return self.git.commit_id(known.commit) or next(heads, None)

    def phase(self, run: str) -> Phase:
        """The phase that a status stands for; Pending while there is none."""
        said = self.said(run)
        return PHASES[said.state] if said is not None else Phase.PENDING

    def runs(self) -> Iterator[str]:
        """The runs that the newest commits of main, and the pushed one here, name; oldest first."""
        here, pushed = self.git.commit_id("HEAD"), self.forge.heads().values()
        newest = [one for one in pushed if one == here]
        for commit in reversed([*dict.fromkeys([*newest, *islice(self.forge.history("main"), SHOWN)])]):
            said = self.forge.statuses(commit)
            yield from (said[context].run for context in (BRANCH_CHECK, PUSH_CHECK) if context in said)

    def attempts(self, due: Submission) -> list[str]:
        """The run that speaks for something now."""
        said = self.forge.statuses(due.parameters["revision"]).get(context_of(due))
        return [said.run] if said is not None and attempt(said.run, due.name) else []

    def follow(self, run: str) -> Iterator[Change]:
        """A line for each new word of a run, until its last."""
        last = None
        for _ in pauses(self.sleep):
            said = self.said(run)
            if said is not None and said != last:
                last = said
                yield as_change(run, said, datetime.now(UTC).isoformat(timespec="seconds"))
            if last is not None and (said is None or said.state != "pending"):
                return  # it has ended, or another attempt speaks now
