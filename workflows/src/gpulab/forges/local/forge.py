"""The local forge: git plumbing for branches, a JSON file per commit for statuses."""

import io
import re
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from gpulab.errors import InputError, PlatformError
from gpulab.events import PROMOTION_CHECK, RESERVED, Event, PullRequestEvent, PushEvent
from gpulab.files import locked, read_json, readable, write_json
from gpulab.forges.local.git import Git
from gpulab.forges.protocol import PullRequest, Status
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
        return Git(self.home.repository)

    def head(self, branch: str) -> str | None:
        """See `Forge.head`."""
        return self.git.commit_id(f"refs/heads/{branch}")

    def heads(self) -> dict[str, str]:
        """See `Forge.heads`."""
        rows = self.git.text("for-each-ref", "--format=%(objectname) %(refname)", "refs/heads").splitlines()
        return {ref.removeprefix("refs/heads/"): commit for commit, _, ref in (row.partition(" ") for row in rows)}

    def history(self, branch: str) -> list[str]:
        """See `Forge.history`."""
        done = self.git.run("rev-list", "--first-parent", f"refs/heads/{branch}", "--", check=False)
        return done.stdout.decode().split() if done.returncode == 0 else []

    def message(self, revision: str) -> str:
        """See `Forge.message`."""
        done = self.git.run("log", "-1", "--format=%B", "--end-of-options", revision, "--", check=False)
        return done.stdout.decode(errors="replace") if done.returncode == 0 else ""

    def checkout(self, revision: str, destination: Path) -> None:
        """See `Forge.checkout`."""
        archive = self.git.run("archive", "--format=tar", revision).stdout
        destination.mkdir(parents=True, exist_ok=True)
        with tarfile.open(fileobj=io.BytesIO(archive)) as tree:
            tree.extractall(destination, filter="data")

    def read(self, revision: str, path: str) -> bytes | None:
        """See `Forge.read`."""
        done = self.git.run("cat-file", "blob", f"{revision}:{path}", check=False)
        return done.stdout if done.returncode == 0 else None

    def files(self, revision: str) -> list[str]:
        """See `Forge.files`."""
        return [name for name in self.git.text("ls-tree", "-r", "-z", "--name-only", revision).split("\0") if name]

    def is_ancestor(self, older: str, newer: str) -> bool:
        """See `Forge.is_ancestor`."""
        return self.git.run("merge-base", "--is-ancestor", older, newer, check=False).returncode == 0

    def commit(self, branch: str, files: Mapping[str, bytes], message: str, parent: str | None) -> str:
        """See `Forge.commit`; built from blobs, so that no working tree and no hook is in the way."""
        if re.match(RESERVED, f"refs/heads/{branch}") is None:
            raise PlatformError(f"the platform's bot does not write {branch}, only deploy/* and promote/*")
        before = self.head(branch)
        if branch.startswith("deploy/") and before != parent:
            raise PlatformError(f"{branch} is at {before}, not at {parent}: another release was faster. Try again.")
        blobs = {name: self.git.text("hash-object", "-w", "--stdin", stdin=data) for name, data in files.items()}
        listing = "".join(f"100644 blob {blob}\t{name}\0" for name, blob in sorted(blobs.items()))
        tree = self.git.text("mktree", "-z", stdin=listing.encode())
        parents = ["-p", parent] if parent else []
        commit = self.git.text("commit-tree", tree, *parents, "-F", "-", stdin=message.encode())
        self._move(branch, commit, before)
        return commit

    def _move(self, branch: str, commit: str, expected: str | None) -> None:
        moved = self.git.run("update-ref", f"refs/heads/{branch}", commit, expected or EMPTY, check=False)
        if moved.returncode != 0:
            raise PlatformError(f"{branch} is no longer at {expected}: another release was faster. Try again.")
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
        pull = next((one for one in self.pull_requests() if one.number == number), None)
        if pull is None or pull.state != "open":
            raise InputError(f"pull request {number} is {pull.state if pull else 'unknown'}: only an open one merges")
        check = self.statuses(pull.head).get(PROMOTION_CHECK)
        if check is None or check.state != "success":
            said = f"{check.state}: {check.description}" if check else "not there yet"
            raise InputError(f"pull request {number} does not merge: its required check {PROMOTION_CHECK} is {said}")
        base = self.head(pull.base)
        if base is not None and not self.is_ancestor(base, pull.head):
            raise InputError(f"{pull.base} moved on since this pull request was made. Type `gpulab promote` again.")
        self._move(pull.base, pull.head, base)
        self._store(replace(pull, state="merged"))
        return pull.head

    def _store(self, pull: PullRequest) -> None:
        write_json(self.home.pulls / f"{pull.number:04d}.json", asdict(pull))
