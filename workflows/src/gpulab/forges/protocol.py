"""What gpulab asks of a forge. Its words are the forges' own: status, pull request, branch."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

State = Literal["pending", "success", "failure", "error"]


@dataclass(frozen=True)
class Status:
    """A commit status.

    Attributes:
        context: who says it, e.g. `gpulab/push`.
        state: `failure` is a verdict on the code; `error`: nothing was judged (platform trouble, stopped, skipped).
        description: one line, at most 140 characters (GitHub's limit).
        run: the run that set it.
    """

    context: str
    state: State
    description: str
    run: str


@dataclass(frozen=True)
class PullRequest:
    """A request to change `base` to what `head` holds."""

    number: int
    title: str
    body: str
    base: str
    branch: str
    head: str
    state: Literal["open", "merged", "closed"]


class Forge(Protocol):
    """One repository on a forge, as the platform's bot sees it."""

    def head(self, branch: str) -> str | None:
        """The commit that the branch points to; None when there is no such branch."""

    def heads(self) -> dict[str, str]:
        """Every branch and the commit that it points to."""

    def history(self, branch: str) -> list[str]:
        """The commits that a branch pointed to, newest first (its first parents); empty when there is no branch."""

    def message(self, revision: str) -> str:
        """The whole message of a commit; empty when there is no such commit."""

    def checkout(self, revision: str, destination: Path) -> None:
        """Write the tree of a commit into an empty folder; no `.git`."""

    def read(self, revision: str, path: str) -> bytes | None:
        """One file of a commit; None when it has no such file."""

    def files(self, revision: str) -> list[str]:
        """Every path in a commit."""

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Whether `newer` contains `older`."""

    def commit(self, branch: str, files: Mapping[str, bytes], message: str, parent: str | None) -> str:
        """Make `branch` a new commit on `parent` that holds exactly `files`; its id.

        The bot writes `deploy/*` and `promote/*` and no other branch, so that no release starts a build.

        Raises:
            PlatformError: the branch moved meanwhile (somebody else was faster), or is not the platform's.
        """

    def set_status(self, revision: str, status: Status) -> None:
        """Say something about a commit; the latest per context counts."""

    def statuses(self, revision: str) -> dict[str, Status]:
        """What is said about a commit, by context."""

    def open_pull_request(self, base: str, branch: str, title: str, body: str) -> PullRequest:
        """Open one, or bring the open one from `branch` up to date."""

    def pull_requests(self) -> list[PullRequest]:
        """All of them, by number."""

    def merge(self, number: int) -> str:
        """Merge a pull request whose required check passed; the new commit of its base.

        Raises:
            InputError: it is not open, its check did not pass, or its base moved on.
        """
