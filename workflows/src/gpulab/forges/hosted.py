"""A repository on a forge with an HTTP API: statuses and pull requests over HTTP, content through real git."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from gpulab.errors import PlatformError
from gpulab.forges import contents
from gpulab.forges.api import Api
from gpulab.forges.clone import Clone
from gpulab.forges.protocol import PullRequest, Status
from gpulab.forges.start import START, store_start
from gpulab.forges.writing import mergeable, moved, only_the_platforms


@dataclass(frozen=True)
class HostedForge:
    """One project's repository on Gitea or GitHub."""

    clone: Clone
    api: Api

    def head(self, branch: str) -> str | None:
        """See `Forge.head`."""
        commit = self.clone.heads(branch).get(branch)
        return None if commit == START else commit

    def heads(self) -> dict[str, str]:
        """See `Forge.heads`."""
        return {branch: commit for branch, commit in self.clone.heads().items() if commit != START}

    def history(self, branch: str) -> list[str]:
        """See `Forge.history`."""
        head = self.clone.fetched(f"refs/heads/{branch}")
        return [commit for commit in contents.history(self.clone.git, head) if commit != START] if head else []

    def message(self, revision: str) -> str:
        """See `Forge.message`."""
        commit = self.clone.fetched(revision)
        return contents.message(self.clone.git, commit) if commit else ""

    def checkout(self, revision: str, destination: Path) -> None:
        """See `Forge.checkout`."""
        contents.checkout(self.clone.git, self._whole(revision), destination)

    def read(self, revision: str, path: str) -> bytes | None:
        """See `Forge.read`."""
        return contents.read(self.clone.git, self._whole(revision), path) if self.clone.fetched(revision) else None

    def files(self, revision: str) -> list[str]:
        """See `Forge.files`."""
        return contents.files(self.clone.git, self._here(revision))

    def is_ancestor(self, older: str, newer: str) -> bool:
        """See `Forge.is_ancestor`."""
        first, second = self.clone.fetched(older), self.clone.fetched(newer)
        return bool(first and second) and contents.is_ancestor(self.clone.git, first or "", second or "")

    def commit(self, branch: str, files: Mapping[str, bytes], message: str, parent: str | None) -> str:
        """See `Forge.commit`."""
        only_the_platforms(branch)
        there = self.clone.heads(branch).get(branch)
        before = None if there == START else there
        if branch.startswith("deploy/") and before != parent:
            raise moved(branch, parent, before)
        onto = self._here(parent) if parent else store_start(self.clone.git)
        commit = contents.new_commit(self.clone.git, files, message, onto)
        self.clone.push(branch, commit, there)
        return commit

    def set_status(self, revision: str, status: Status) -> None:
        """See `Forge.set_status`."""
        self.api.set_status(revision, status)

    def statuses(self, revision: str) -> dict[str, Status]:
        """See `Forge.statuses`."""
        return self.api.statuses(revision)

    def open_pull_request(self, base: str, branch: str, title: str, body: str) -> PullRequest:
        """See `Forge.open_pull_request`."""
        head = self.head(branch)
        if head is None:
            raise PlatformError(f"there is no branch {branch} to open a pull request from")
        # a forge takes a moment to see a push
        return replace(self.api.open_pull_request(base, branch, title, body), head=head)

    def pull_requests(self) -> list[PullRequest]:
        """See `Forge.pull_requests`."""
        return self.api.pull_requests()

    def merge(self, number: int) -> str:
        """See `Forge.merge`."""
        pull, _ = mergeable(self, number)
        return self.api.merge(pull)

    def _here(self, revision: str) -> str:
        """The full id of a commit, fetched.

        Raises:
            PlatformError: the repository has no such commit.
        """
        commit = self.clone.fetched(revision)
        if commit is None:
            raise PlatformError(f"{self.clone.url} has no commit {revision}")
        return commit

    def _whole(self, revision: str) -> str:
        """The same, with all its files."""
        commit = self._here(revision)
        self.clone.blobs(commit)
        return commit
