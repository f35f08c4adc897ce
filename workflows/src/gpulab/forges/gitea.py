"""Gitea (and Forgejo): a merge moves the base forward to the very commit that was checked.

See https://docs.gitea.com/api/.
"""

from collections.abc import Mapping
from typing import Any

from gpulab.forges.api import Api
from gpulab.forges.protocol import PullRequest


class GiteaApi(Api):
    """One repository on a Gitea."""

    def _mergeable(self, raw: Mapping[str, Any]) -> bool | None:
        return bool(raw.get("mergeable")) or bool(raw.get("merged")) or None  # false also means: not computed yet

    def _merge(self, pull: PullRequest) -> None:
        body = {"Do": "fast-forward-only", "head_commit_id": pull.head}
        self.http.ask("POST", self._path(f"pulls/{pull.number}/merge"), body, once=True)


def headers(token: str) -> dict[str, str]:
    """How Gitea takes a token."""
    return {"Authorization": f"token {token}"} if token else {}
