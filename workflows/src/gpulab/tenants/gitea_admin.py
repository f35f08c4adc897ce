"""Gitea: an account per project, tokens with scopes, protected branches. See https://docs.gitea.com/api/."""

import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx

from gpulab.errors import InputError
from gpulab.forges.gitea import headers
from gpulab.forges.http import Http, RefusedError, api
from gpulab.tenants.forge_admin import drop_hooks, put_hook, without_main
from gpulab.tenants.forge_plan import Protection, Tokens

SCOPES = {"bot": "write:repository", "clone": "read:repository"}


@dataclass(frozen=True)
class GiteaAdmin:
    """One repository; the token is of an administrator of the Gitea, who may make accounts.

    Attributes:
        login: the API as somebody else.
    """

    http: Http
    repository: str
    login: Callable[[dict[str, str]], Http]

    def look(self) -> None:
        """See `ForgeAdmin.look`."""
        found = self._get(f"repos/{self.repository}")
        if not found or not found.get("permissions", {}).get("admin"):
            raise InputError(
                f"--repository {self.repository}: it is not there, or the token is not its administrator's. Make it on"
                " the forge, then try again."
            )
        if not self._get(f"repos/{self.repository}/branches/main"):
            raise without_main(self.repository)
        merge = {"has_pull_requests": True, "allow_fast_forward_only_merge": True}
        self.http.ask("PATCH", f"repos/{self.repository}", merge)

    def bot(self, wanted: str, kept: Tokens) -> tuple[str, Tokens]:
        """See `ForgeAdmin.bot`."""
        password = secrets.token_urlsafe(32)  # used here and forgotten
        known = self._get(f"users/{wanted}") is not None
        if not known:
            account = {"email": f"{wanted}@noreply.localhost", "must_change_password": False, "send_notify": False}
            more = {"restricted": True, "visibility": "private", "full_name": "gpulab"}
            self.http.ask("POST", "admin/users", {"username": wanted, "password": password, **account, **more})
        self.http.ask("PUT", f"repos/{self.repository}/collaborators/{wanted}", {"permission": "write"})
        if known and self._works(kept.bot) and self._works(kept.clone):
            return wanted, kept
        changed = {"login_name": wanted, "source_id": 0, "password": password, "must_change_password": False}
        self.http.ask("PATCH", f"admin/users/{wanted}", changed)
        return wanted, Tokens(**{name: self._token(wanted, password, name) for name in SCOPES})

    def _works(self, token: str) -> bool:
        if not token:
            return False
        with suppress(RefusedError):
            self.login(headers(token)).ask("GET", f"repos/{self.repository}")
            return True
        return False

    def _token(self, bot: str, password: str, name: str) -> str:
        """A new token of this name; one that was there stops working."""
        basic = httpx.BasicAuth(bot, password)
        request = next(basic.auth_flow(httpx.Request("GET", "http://x")))
        own = self.login({"Authorization": request.headers["Authorization"]})
        with suppress(RefusedError):
            own.ask("DELETE", f"users/{bot}/tokens/gpulab-{name}")
        made = own.ask("POST", f"users/{bot}/tokens", {"name": f"gpulab-{name}", "scopes": [SCOPES[name]]}, once=True)
        return str(made["sha1"])

    def protect(self, protection: Protection) -> str:
        """See `ForgeAdmin.protect`."""
        path, rule = f"repos/{self.repository}/branch_protections", rule_of(protection)
        if self._get(f"{path}/{quote(protection.branch, safe='')}"):
            self.http.ask("PATCH", f"{path}/{quote(protection.branch, safe='')}", rule)
            return f"branch {protection.branch}: protection brought up to date"
        self.http.ask("POST", path, rule | {"rule_name": protection.branch})
        return f"branch {protection.branch}: protected"

    def hook(self, url: str, secret: str, token: str) -> str:
        """See `ForgeAdmin.hook`.

        Argo checks a signature only of a payload that it reads as GitHub's, and Gitea's `repository.created_at` is a
        text where GitHub's is a number (Argo 4.0.5, go-playground/webhooks 6.4): 401. So the token goes along.
        """
        config = {"url": url, "content_type": "json", "secret": secret}
        body = {"type": "gitea", "config": config, "authorization_header": f"Bearer {token}"}
        return put_hook(self.http, self._hooks, url, body)

    def remove_hook(self, url: str) -> str:
        """See `ForgeAdmin.remove_hook`."""
        return drop_hooks(self.http, self._hooks, url)

    def unprotect(self, branch: str) -> str:
        """See `ForgeAdmin.unprotect`."""
        path = f"repos/{self.repository}/branch_protections/{quote(branch, safe='')}"
        return f"branch {branch}: {'no longer protected' if self._delete(path) else 'was not protected'}"

    def remove_bot(self, name: str) -> str:
        """See `ForgeAdmin.remove_bot`; its tokens end with it, what it wrote stays."""
        return f"account {name}: {'removed' if self._delete(f'admin/users/{name}') else 'was not there'}"

    @property
    def _hooks(self) -> str:
        return f"repos/{self.repository}/hooks"

    def _get(self, path: str) -> Any:
        return _unless_missing(lambda: self.http.ask("GET", path))

    def _delete(self, path: str) -> bool:
        return _unless_missing(lambda: (self.http.ask("DELETE", path), True)) is not None


def _unless_missing(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except RefusedError as error:
        if error.status != 404:
            raise
        return None


def rule_of(protection: Protection) -> dict[str, Any]:
    """A protection in Gitea's words. A merge by pull request is none of its pushes."""
    only = [protection.pusher] if protection.pusher else []
    return {
        "enable_push": bool(only),
        "enable_push_whitelist": bool(only),
        "push_whitelist_usernames": only,
        "enable_merge_whitelist": bool(only),
        "merge_whitelist_usernames": only,
        "enable_force_push": False,
        "enable_status_check": bool(protection.check),
        "status_check_contexts": [protection.check] if protection.check else [],
        "block_on_outdated_branch": True,
        "block_admin_merge_override": True,
    }


def gitea_admin(url: str, repository: str, token: str) -> GiteaAdmin:
    """The repository at a Gitea's API."""
    return GiteaAdmin(api(url, headers(token)), repository, lambda login: api(url, login))
