"""GitHub: a merge makes a commit whose tree is the checked head's and whose first parent is the base before.

GitHub has no fast-forward merge; the branch protection of `gpulab project connect` wants the head up to date with its
base, so that nothing is mixed in. See https://docs.github.com/en/rest.
"""

from collections.abc import Mapping
from typing import Any

from gpulab.forges.api import Api
from gpulab.forges.protocol import PullRequest

VERSION = "2022-11-28"
"""Of the REST API."""


class GitHubApi(Api):
    """One repository on GitHub."""

    def _mergeable(self, raw: Mapping[str, Any]) -> bool | None:
        known = raw.get("mergeable")
        return True if raw.get("merged") else None if known is None else bool(known)

    def _merge(self, pull: PullRequest) -> None:
        body = {"merge_method": "merge", "sha": pull.head}
        self.http.ask("PUT", self._path(f"pulls/{pull.number}/merge"), body, once=True)


def headers(token: str) -> dict[str, str]:
    """How GitHub takes a token."""
    known = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": VERSION}
    return known | ({"Authorization": f"Bearer {token}"} if token else {})
