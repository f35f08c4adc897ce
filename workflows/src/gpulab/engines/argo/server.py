"""The HTTP edge: one request with another try when the server is in trouble, refusals in words."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from gpulab.engines.argo.settings import CA_FILE, NAMESPACE, TOKEN, URL, ArgoSettings
from gpulab.errors import InputError, PlatformError
from gpulab.retry_after import retry_after

PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds between tries; a server that restarts is back within them."""

LONGEST_PAUSE = 30.0
"""Seconds; what `Retry-After` may ask for at most."""

TROUBLE = frozenset({429, 500, 502, 503, 504})
TIMEOUT = httpx.Timeout(30.0)
QUIET = 60.0
"""Seconds without a line after which a stream is taken for broken."""


class NotFound(PlatformError):  # noqa: N818
    """There is no such thing on the server."""


class Conflict(PlatformError):  # noqa: N818
    """There is one of that name already."""


class Server:
    """Argo's server, asked as the token's owner."""

    def __init__(
        self,
        settings: ArgoSettings,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._sleep = sleep
        self._settings = settings
        self._client = httpx.Client(
            base_url=settings.url,
            headers={"Authorization": f"Bearer {settings.token}"},
            timeout=TIMEOUT,
            transport=transport or httpx.HTTPTransport(verify=settings.verify()),
        )

    def ask(
        self, method: str, path: str, params: Mapping[str, str] | None = None, body: Mapping[str, Any] | None = None
    ) -> Any:
        """The JSON of an answer.

        Raises:
            NotFound: 404.
            Conflict: 409.
            InputError: the token is not taken, or the request is not.
            PlatformError: no answer, or none but trouble.
        """
        answer = self._tried(lambda: self._client.request(method, path, params=params, json=body))
        try:
            return answer.json()
        except ValueError:
            raise InputError(f"{URL}: {self._settings.url} gives no JSON at {path}; is it Argo's server?") from None

    def download(self, path: str, to: Path) -> None:
        """Write the bytes of an answer to a file, whole or not at all. Raises as `ask`."""
        answer = self._tried(lambda: self._client.get(path))
        to.parent.mkdir(parents=True, exist_ok=True)
        draft = to.with_name(f".{to.name}.part")
        draft.write_bytes(answer.content)
        draft.replace(to)

    @contextmanager
    def lines(self, path: str, params: Mapping[str, str]) -> Iterator[Iterator[str]]:
        """The lines of a stream; tried once, since the caller asks again from the beginning.

        Raises:
            PlatformError: it could not be opened, or broke.
        """
        try:
            headers = {"Accept": "text/event-stream"}
            timeout = httpx.Timeout(30.0, read=QUIET)
            with self._client.stream("GET", path, params=params, headers=headers, timeout=timeout) as answer:
                if answer.status_code != httpx.codes.OK:
                    raise PlatformError(f"Argo's stream of events: status {answer.status_code}")
                yield answer.iter_lines()
        except httpx.HTTPError as error:
            raise PlatformError(f"Argo's stream of events broke ({error})") from None

    def _tried(self, once: Callable[[], httpx.Response]) -> httpx.Response:
        said = ""
        for pause in (*PAUSES, 0.0):
            asked = 0.0
            try:
                answer = once()
                if answer.status_code not in TROUBLE:
                    return self._accepted(answer)
                said = f"status {answer.status_code}{reason(answer)}"
                asked = min(retry_after(answer) or 0.0, LONGEST_PAUSE)
            except httpx.TransportError as error:
                said = str(error) or type(error).__name__
                self._refuse_foreign_certificate(said)
            if pause:
                self._sleep(max(pause, asked))
        raise PlatformError(f"{self._settings.url} does not answer ({said}); asked {len(PAUSES) + 1} times")

    def _refuse_foreign_certificate(self, said: str) -> None:
        if "CERTIFICATE_VERIFY_FAILED" in said:
            raise InputError(
                f"{URL}: {self._settings.url} has a certificate that nobody here trusts. {CA_FILE}=FILE.pem"
            )

    def _accepted(self, answer: httpx.Response) -> httpx.Response:
        code, why = answer.status_code, reason(answer)
        if code in (401, 403):
            rights = f"Ask for one that may do this in namespace {self._settings.namespace} ({NAMESPACE})."
            raise InputError(f"{TOKEN}: Argo's server refused it with status {code}{why}. {rights}")
        if code == 404:
            raise NotFound(f"Argo's server knows no such thing{why}")
        if code == 409:
            raise Conflict(f"Argo's server has it already{why}")
        if code == 400:
            raise InputError(f"Argo's server refused the request{why}")
        if not answer.is_success:
            raise InputError(f"{URL}: {self._settings.url} answered with status {code}; is it Argo's server?")
        return answer


def reason(answer: httpx.Response) -> str:
    """What the server says beside the status, as `: …`; empty when it says nothing."""
    try:
        said = answer.json().get("message", "")
    except (ValueError, AttributeError, httpx.ResponseNotRead):
        return ""
    return f": {str(said)[:300]}" if said else ""
