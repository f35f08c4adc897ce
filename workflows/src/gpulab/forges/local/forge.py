"""The local forge: git plumbing for branches, a JSON file per commit for statuses."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from gpulab.errors import PlatformError
from gpulab.events import Event, PullRequestEvent, PushEvent
from gpulab.files import locked, read_json, readable, write_json
from gpulab.forges import contents
from gpulab.forges.local.git import Git, bare
from gpulab.forges.protocol import PullRequest, Status
from gpulab.forges.writing import mergeable, moved, only_the_platforms
from gpulab.home import Home

EMPTY = "0" * 40


@dataclass(frozen=True)
class LocalForge:
    """One project's forge in `.gpulab/`.

    Attributes:
        home: where everything is kept.
        deliver: called with each event, as a webhook would be.
    """

    home: Home
    deliver: Callable[[Event], object]

    @property
    def git(self) -> Git:
        """The bare repository."""
        return bare(self.home.repository)

    def head(self, branch: str) -> str | None:
        """See `Forge.head`."""
        return self.git.commit_id(f"refs/heads/{branch}")

    def heads(self) -> dict[str, str]:
        """See `Forge.heads`."""
        return contents.heads(self.git.run("for-each-ref", "--format=%(objectname) %(refname)", "refs/heads").stdout)

    def history(self, branch: str) -> list[str]:
        """See `Forge.history`."""
        return contents.history(self.git, f"refs/heads/{branch}")

    def message(self, revision: str) -> str:
        """See `Forge.message`."""
        return contents.message(self.git, revision)

    def checkout(self, revision: str, destination: Path) -> None:
        """See `Forge.checkout`."""
        contents.checkout(self.git, revision, destination)

    def read(self, revision: str, path: str) -> bytes | None:
        """See `Forge.read`."""
        return contents.read(self.git, revision, path)

    def files(self, revision: str) -> list[str]:
        """See `Forge.files`."""
        return contents.files(self.git, revision)

    def is_ancestor(self, older: str, newer: str) -> bool:
        """See `Forge.is_ancestor`."""
        return contents.is_ancestor(self.git, older, newer)

    def commit(self, branch: str, files: Mapping[str, bytes], message: str, parent: str | None) -> str:
        """See `Forge.commit`."""
        only_the_platforms(branch)
        before = self.head(branch)
        if branch.startswith("deploy/") and before != parent:
            raise moved(branch, parent, before)
        commit = contents.new_commit(self.git, files, message, parent)
        self._move(branch, commit, before)
        return commit

    def _move(self, branch: str, commit: str, expected: str | None) -> None:
        done = self.git.run("update-ref", f"refs/heads/{branch}", commit, expected or EMPTY, check=False)
        if done.returncode != 0:
            raise moved(branch, expected)
        self.deliver(PushEvent(ref=f"refs/heads/{branch}", before=expected or EMPTY, after=commit))

    def set_status(self, revision: str, status: Status) -> None:
        """See `Forge.set_status`."""
        with locked(self.home.statuses):
            known = self.statuses(revision) | {status.context: status}
            document = {context: asdict(one) for context, one in sorted(known.items())}
            write_json(self.home.statuses / f"{revision}.json", document)

    def statuses(self, revision: str) -> dict[str, Status]:
        """See `Forge.statuses`."""
        path = self.home.statuses / f"{revision}.json"
        with readable(path):
            return {context: Status(**one) for context, one in read_json(path, default={}).items()}

    def open_pull_request(self, base: str, branch: str, title: str, body: str) -> PullRequest:
        """See `Forge.open_pull_request`."""
        head = self.head(branch)
        if head is None:
            raise PlatformError(f"there is no branch {branch} to open a pull request from")
        with locked(self.home.pulls):
            known = self.pull_requests()
            same = [pull for pull in known if pull.branch == branch and pull.state == "open"]
            number = same[0].number if same else max((pull.number for pull in known), default=0) + 1
            pull = PullRequest(number, title, body, base, branch, head, "open")
            self._store(pull)
        self.deliver(PullRequestEvent(number=number, base=base, head=head))
        return pull

    def pull_requests(self) -> list[PullRequest]:
        """See `Forge.pull_requests`."""
        known = []
        for file in sorted(self.home.pulls.glob("*.json")) if self.home.pulls.is_dir() else []:
            with readable(file):
                known.append(self._truth(PullRequest(**read_json(file))))
        return known

    def _truth(self, pull: PullRequest) -> PullRequest:
        """A merge that was killed after it moved the branch is a merge."""
        base = self.head(pull.base) if pull.state == "open" else None
        merged = base is not None and self.is_ancestor(pull.head, base)
        return replace(pull, state="merged") if merged else pull

    def merge(self, number: int) -> str:
        """See `Forge.merge`."""
        pull, base = mergeable(self, number)
        self._move(pull.base, pull.head, base)
        self._store(replace(pull, state="merged"))
        return pull.head

    def _store(self, pull: PullRequest) -> None:
        write_json(self.home.pulls / f"{pull.number:04d}.json", asdict(pull))
