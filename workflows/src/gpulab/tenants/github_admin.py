"""GitHub: tokens are made by a person, branches are protected. See https://docs.github.com/en/rest/branches."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from gpulab.errors import InputError
from gpulab.forges.github import headers
from gpulab.forges.http import Http, RefusedError, api
from gpulab.tenants.forge_admin import drop_hooks, put_hook, without_main
from gpulab.tenants.forge_plan import Protection, Tokens

HOW = (
    "GitHub lets nobody make a token for somebody else. Log in as the bot's account, which may write to the repository,"
    " and make two fine-grained tokens for this repository alone: one with Contents, Commit statuses and Pull requests:"
    " write (--bot-token-file), one with Contents: read (--clone-token-file)."
)


@dataclass(frozen=True)
class GitHubAdmin:
    """One repository; the token has Administration and Webhooks: write on it.

    Attributes:
        given: tokens that a person made for the bot.
        login: the API as somebody else.
    """

    http: Http
    repository: str
    given: Tokens
    login: Callable[[str], Http]

    def look(self) -> None:
        """See `ForgeAdmin.look`."""
        found = self._unless_missing("GET", f"repos/{self.repository}")
        if not found or not found.get("permissions", {}).get("admin"):
            raise InputError(
                f"--repository {self.repository}: the token is not its administrator's, or it is not there"
            )
        if not self._unless_missing("GET", f"repos/{self.repository}/branches/main"):
            raise without_main(self.repository)
        self.http.ask("PATCH", f"repos/{self.repository}", {"allow_merge_commit": True})

    def bot(self, wanted: str, kept: Tokens) -> tuple[str, Tokens]:
        """See `ForgeAdmin.bot`; its name is the one of whoever made the token."""
        tokens = replace(kept, **{name: one for name, one in vars(self.given).items() if one})
        if not (tokens.bot and tokens.clone):
            raise InputError(HOW)
        try:
            name = str(self.login(tokens.bot).ask("GET", "user")["login"])
            may = self.login(tokens.bot).ask("GET", f"repos/{self.repository}").get("permissions", {})
            self.login(tokens.clone).ask("GET", f"repos/{self.repository}")
        except RefusedError as error:
            raise InputError(f"a token of the bot does not work ({error.status} {error.reason}). {HOW}") from None
        if not may.get("push"):
            raise InputError(f"the bot {name} may not write to {self.repository}: make it a collaborator. {HOW}")
        return name, tokens

    def protect(self, protection: Protection) -> str:
        """See `ForgeAdmin.protect`."""
        try:
            self.http.ask("PUT", self._protection(protection.branch), rule_of(protection))
        except RefusedError as error:
            if not protection.pusher or error.status != 422:
                raise
            return (
                f"branch {protection.branch}: not protected: GitHub restricts pushes in organisations' repositories"
                " only. A push by hand is refused by sync, which applies nothing that no run has proven."
            )
        return f"branch {protection.branch}: protected"

    def hook(self, url: str, secret: str, token: str) -> str:
        """See `ForgeAdmin.hook`; GitHub signs, and is given no token."""
        config = {"url": url, "content_type": "json", "secret": secret, "insecure_ssl": "0"}
        return put_hook(self.http, self._hooks, url, {"name": "web", "config": config})

    def remove_hook(self, url: str) -> str:
        """See `ForgeAdmin.remove_hook`."""
        return drop_hooks(self.http, self._hooks, url)

    def unprotect(self, branch: str) -> str:
        """See `ForgeAdmin.unprotect`."""
        self._unless_missing("DELETE", self._protection(branch))
        return f"branch {branch}: no longer protected"

    def remove_bot(self, name: str) -> str:
        """See `ForgeAdmin.remove_bot`."""
        return "tokens of the bot: revoke them at https://github.com/settings/tokens, as the bot's account"

    def _protection(self, branch: str) -> str:
        return f"repos/{self.repository}/branches/{quote(branch, safe='')}/protection"

    @property
    def _hooks(self) -> str:
        return f"repos/{self.repository}/hooks"

    def _unless_missing(self, method: str, path: str) -> Any:
        try:
            return self.http.ask(method, path)
        except RefusedError as error:
            if error.status != 404:
                raise
            return None


def rule_of(protection: Protection) -> dict[str, Any]:
    """A protection in GitHub's words; `strict` wants a head that holds its base."""
    checks = {"strict": True, "checks": [{"context": protection.check}]} if protection.check else None
    return {
        "required_status_checks": checks,
        "enforce_admins": True,
        "required_pull_request_reviews": None if protection.pusher else {"required_approving_review_count": 0},
        "restrictions": {"users": [protection.pusher], "teams": [], "apps": []} if protection.pusher else None,
        "allow_force_pushes": False,
        "allow_deletions": False,
    }


def github_admin(url: str, repository: str, token: str, given: Tokens) -> GitHubAdmin:
    """The repository at GitHub's API."""
    return GitHubAdmin(api(url, headers(token)), repository, given, lambda other: api(url, headers(other)))
