"""What `connect` asks of a forge, whichever it is; every method can be repeated."""

from collections.abc import Mapping
from typing import Any, Protocol

from gpulab.errors import InputError
from gpulab.forges.http import Http
from gpulab.tenants.forge_plan import EVENTS, Protection, Tokens


class ForgeAdmin(Protocol):
    """One repository, with its administrator's token."""

    def look(self) -> None:
        """Whether it is there, holds main, and may be set up.

        Raises:
            InputError: not.
        """

    def bot(self, wanted: str, kept: Tokens) -> tuple[str, Tokens]:
        """The account that will write, and its tokens; `kept` ones stay when they still work.

        Raises:
            InputError: the forge makes no accounts, and none was given.
        """

    def protect(self, protection: Protection) -> str:
        """Protect a branch; what was done, in words."""

    def hook(self, url: str, secret: str, token: str) -> str:
        """Send events to a URL, once, signed with a secret or with Argo's bearer token; what was done, in words."""

    def remove_hook(self, url: str) -> str:
        """Send no more."""

    def unprotect(self, branch: str) -> str:
        """Lift a protection."""

    def remove_bot(self, name: str) -> str:
        """Take the account's rights and tokens away."""


def without_main(repository: str) -> InputError:
    """A forge makes the first branch that it gets the default one, and connecting makes deploy branches."""
    return InputError(f"{repository} has no branch main yet. Type: git push origin main, then connect again")


def put_hook(http: Http, path: str, url: str, body: Mapping[str, Any]) -> str:
    """Make or update the one hook that sends to `url`; further ones are removed."""
    known = hooks(http, path, url)
    for double in known[1:]:
        http.ask("DELETE", f"{path}/{double}")
    given = {**body, "active": True, "events": list(EVENTS)}
    if known:
        http.ask("PATCH", f"{path}/{known[0]}", given)
        return f"webhook {url}: brought up to date"
    http.ask("POST", path, given)
    return f"webhook {url}: made"


def drop_hooks(http: Http, path: str, url: str) -> str:
    """Remove every hook that sends to `url`."""
    known = hooks(http, path, url)
    for one in known:
        http.ask("DELETE", f"{path}/{one}")
    return f"webhook {url}: {'removed' if known else 'was not there'}"


def hooks(http: Http, path: str, url: str) -> list[int]:
    """The hooks that send to `url`, oldest first."""
    return sorted(one["id"] for one in http.pages(path) if one.get("config", {}).get("url") == url)
