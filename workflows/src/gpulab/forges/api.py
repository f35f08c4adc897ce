"""What Gitea's and GitHub's APIs have in common: statuses and pull requests of one repository."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast, get_args

from gpulab.errors import InputError, PlatformError
from gpulab.forges.http import Http, RefusedError
from gpulab.forges.protocol import PullRequest, State, Status

DESCRIPTION = 140
"""GitHub's limit, in characters."""

MERGEABLE_SECONDS = 30.0
"""A forge computes in the background whether a pull request can be merged."""


@dataclass(frozen=True)
class Api(ABC):
    """One repository.

    Attributes:
        repository: `owner/name`.
        runs: the address of a run is `<runs>/<run>`.
    """

    http: Http
    repository: str
    runs: str

    def set_status(self, revision: str, status: Status) -> None:
        """See `Forge.set_status`."""
        body = {"context": status.context, "state": status.state, "description": status.description[:DESCRIPTION]}
        link = {"target_url": f"{self.runs}/{status.run}"} if status.run else {}
        self.http.ask("POST", self._path(f"statuses/{revision}"), body | link)

    def statuses(self, revision: str) -> dict[str, Status]:
        """See `Forge.statuses`; what others say about the commit is there, too."""
        found = self.http.pages(self._path(f"commits/{revision}/status"), "statuses") if revision else ()
        said = [self._status(one) for one in found]
        return {one.context: one for one in said}

    def _status(self, one: Mapping[str, Any]) -> Status:
        state = one.get("status") or one.get("state")  # Gitea, GitHub
        known = cast(State, state) if state in get_args(State) else "error"
        run = str(one.get("target_url") or "").rpartition("/")[2]
        return Status(str(one["context"]), known, str(one.get("description") or ""), run)

    def open_pull_request(self, base: str, branch: str, title: str, body: str) -> PullRequest:
        """See `Forge.open_pull_request`.

        Raises:
            PlatformError: the forge refuses, for example because there is no such base.
        """
        text = {"title": title, "body": body}
        try:
            known = self._open(branch)
            if known is None:
                asked = text | {"base": base, "head": branch}
                return self._pull(self.http.ask("POST", self._path("pulls"), asked))
        except RefusedError as error:
            known = self._open(branch)  # an answer that got lost, or somebody else
            if error.status not in (409, 422) or known is None:
                raise
        return self._pull(self.http.ask("PATCH", self._path(f"pulls/{known.number}"), text | {"base": base}))

    def _open(self, branch: str) -> PullRequest | None:
        return next((one for one in self._pulls("open") if one.branch == branch), None)

    def pull_requests(self) -> list[PullRequest]:
        """See `Forge.pull_requests`."""
        return sorted(self._pulls("all"), key=lambda pull: pull.number)

    def _pulls(self, state: str) -> list[PullRequest]:
        return [self._pull(one) for one in self.http.pages(self._path("pulls"), state=state)]

    def _pull(self, one: Mapping[str, Any]) -> PullRequest:
        merged = one.get("merged") or one.get("merged_at")
        head, place = one["head"], (one["head"].get("repo") or {}).get("full_name", self.repository)
        return PullRequest(
            number=int(one["number"]),
            title=str(one["title"]),
            body=str(one.get("body") or ""),
            base=str(one["base"]["ref"]),
            # a fork may have a branch of any name
            branch=str(head["ref"]) if place.lower() == self.repository.lower() else f"{place}:{head['ref']}",
            head=str(head["sha"]),
            state="merged" if merged else "open" if one["state"] == "open" else "closed",
        )

    def merge(self, pull: PullRequest) -> str:
        """Merge a pull request at the head that was looked at; the new commit of its base.

        Raises:
            InputError: the forge refuses, in its words.
            PlatformError: it does not answer.
        """
        self._until_mergeable(pull)
        try:
            self._merge(pull)
        except PlatformError as error:
            now = self._raw(pull)
            if not now.get("merged"):  # else the answer got lost
                if isinstance(error, RefusedError) and error.status in (405, 409, 422):
                    raise _refused(pull, error.reason) from None
                raise
        return str(self._raw(pull)["merge_commit_sha"])

    def _until_mergeable(self, pull: PullRequest) -> None:
        ends = self.http.clock() + MERGEABLE_SECONDS
        while not (known := self._mergeable(self._raw(pull))):
            if known is False or self.http.clock() > ends:
                raise _refused(pull, "it conflicts with its base, or the forge cannot tell yet. Try again later")
            self.http.sleep(1.0)

    def _raw(self, pull: PullRequest) -> dict[str, Any]:
        return dict(self.http.ask("GET", self._path(f"pulls/{pull.number}")))

    def _path(self, rest: str) -> str:
        return f"repos/{self.repository}/{rest}"

    @abstractmethod
    def _mergeable(self, raw: Mapping[str, Any]) -> bool | None:
        """Whether it can be merged; None while the forge has not found out."""

    @abstractmethod
    def _merge(self, pull: PullRequest) -> None:
        """Ask for the merge, once."""


def _refused(pull: PullRequest, reason: str) -> InputError:
    return InputError(f"pull request {pull.number} does not merge: {reason}")
