"""One forge's HTTP API: retries within a budget, pages, and errors that name what was asked and never a token."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx

from gpulab.errors import PlatformError
from gpulab.retry_after import retry_after

BUDGET_SECONDS = 90.0
"""For one question with all its tries: a step has five minutes, and is itself tried three times."""

TIMEOUT = httpx.Timeout(20.0, connect=5.0)
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0
PAGE = 50
"""Gitea's largest page with stock settings; GitHub's is 100."""


class RefusedError(PlatformError):
    """The forge answered, and will give the same answer again.

    Attributes:
        status: of HTTP.
        reason: in the forge's words.
    """

    def __init__(self, asked: str, status: int, reason: str) -> None:
        super().__init__(f"{asked}: {status} {reason}{hint(status)}")
        self.status, self.reason = status, reason


def hint(status: int) -> str:
    """What to do about an answer that has one usual cause."""
    if status == 401:
        return ". Its token is expired or was revoked: type gpulab project connect again."
    if status in (403, 404):
        return ". Its token may not do this, or the repository has moved: type gpulab project connect again."
    return ""


@dataclass(frozen=True)
class Http:
    """A forge's API.

    Attributes:
        client: with base URL and credentials.
        sleep: how to wait.
        clock: monotonic, in seconds.
    """

    client: httpx.Client = field(repr=False)
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    def ask(self, method: str, path: str, body: Any = None, *, once: bool = False, **query: Any) -> Any:
        """The JSON of an answer; None when it is empty.

        Args:
            once: doing it twice is not the same as once: tried again only when it was certainly not done.

        Raises:
            RefusedError: the forge says no.
            PlatformError: no answer within the budget.
        """
        return _content(self._asked(method, path), self._answer(method, path, body, query, once))

    def _asked(self, method: str, path: str) -> str:
        return f"{urlsplit(str(self.client.base_url)).netloc} was asked to {method} {path}"

    def _answer(self, method: str, path: str, body: Any, query: Mapping[str, Any], once: bool) -> httpx.Response:
        asked = self._asked(method, path)
        ends, pause = self.clock() + BUDGET_SECONDS, FIRST_PAUSE
        while True:
            answer, trouble = self._try(method, path, body, query)
            if answer is not None and not _worth_another_try(answer):
                return answer
            told = None if answer is None else retry_after(answer)
            wait = max(pause, told or 0.0)
            if (once and not _not_done(answer, trouble)) or self.clock() + wait > ends:
                raise PlatformError(f"{asked}: {_said(answer, trouble)}. Try again later.")
            self.sleep(wait)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _try(
        self, method: str, path: str, body: Any, query: Mapping[str, Any]
    ) -> tuple[httpx.Response | None, Exception | None]:
        try:
            return self.client.request(method, path, json=body, params=query or None), None
        except httpx.TransportError as error:
            return None, error

    def pages(self, path: str, key: str | None = None, **query: Any) -> Iterator[Any]:
        """The items of all pages, of a list or of the list below `key`."""
        for page in range(1, 10_000):
            answer = self._answer("GET", path, None, {"page": page, "limit": PAGE, "per_page": PAGE, **query}, False)
            content = _content(self._asked("GET", path), answer)
            items = ((content or {}).get(key) if key else content) or []
            yield from items
            if "next" not in answer.links and len(items) < PAGE:  # a server may have smaller pages, or no links
                return


def api(url: str, headers: Mapping[str, str], transport: httpx.BaseTransport | None = None) -> Http:
    """The API at a URL. Redirects are not followed: credentials go to the forge that was named."""
    sent = {"Accept": "application/json", "User-Agent": "gpulab", **headers}
    return Http(httpx.Client(base_url=url.rstrip("/") + "/", headers=sent, timeout=TIMEOUT, transport=transport))


def _worth_another_try(answer: httpx.Response) -> bool:
    """Too many requests (GitHub says it with 403, too), or trouble of the forge."""
    limited = answer.status_code == 403 and (
        "retry-after" in answer.headers or answer.headers.get("x-ratelimit-remaining") == "0"
    )
    return limited or answer.status_code in (408, 429) or answer.status_code >= 500


def _not_done(answer: httpx.Response | None, trouble: Exception | None) -> bool:
    """Whether the forge certainly did nothing: no connection, or turned away at the door."""
    refused = answer is not None and answer.status_code in (403, 429, 503)
    return refused or isinstance(trouble, httpx.ConnectError | httpx.ConnectTimeout)


def _said(answer: httpx.Response | None, trouble: Exception | None) -> str:
    if answer is None:
        return f"no answer ({type(trouble).__name__}: {trouble})"
    return f"{answer.status_code} {_reason(answer)}"


def _content(asked: str, answer: httpx.Response) -> Any:
    if not answer.is_success:
        raise RefusedError(asked, answer.status_code, _reason(answer))
    if not answer.content:
        return None
    try:
        return answer.json()
    except ValueError:
        raise PlatformError(f"{asked}: the answer is no JSON. Is this the address of its API?") from None


def _reason(answer: httpx.Response) -> str:
    """The forge's own words, one line."""
    try:
        document = answer.json()
    except ValueError:
        document = None
    words = document.get("message") if isinstance(document, dict) else None
    errors = document.get("errors") if isinstance(document, dict) else None
    told = [one.get("message") for one in errors if isinstance(one, dict)] if isinstance(errors, list) else []
    line = "; ".join(str(one) for one in (words, *told) if one) or answer.reason_phrase
    return " ".join(line.split())[:300]
