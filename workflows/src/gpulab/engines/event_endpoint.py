"""Argo's endpoint for events: the request that a forge's webhook would have made.

The payload is GitHub's of a push, cut to what `gpulab.pipelines.bindings` reads. Argo answers 200 to every event that
it may receive, whether a binding matches it or not.

See https://argo-workflows.readthedocs.io/en/latest/events/ and
https://docs.github.com/en/webhooks/webhook-events-and-payloads#push.
"""

import hashlib
import hmac
import http.client
import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from gpulab.errors import InputError, PlatformError, without_credentials
from gpulab.events import PushEvent
from gpulab.names import LABEL

EVENTS_URL, TOKEN, SECRET = "GPULAB_EVENTS_URL", "GPULAB_TOKEN", "GPULAB_WEBHOOK_SECRET"
ENDPOINT = rf"/api/v1/events/{LABEL}/gpulab"
HERE = ("localhost", "127.0.0.1", "::1")
SECONDS = 30


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the token to wherever it says."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def push_payload(event: PushEvent) -> bytes:
    """The event as GitHub words it, as JSON."""
    payload = {
        "ref": event.ref,
        "before": event.before,
        "after": event.after,
        "deleted": False,
        "head_commit": {"id": event.after, "message": event.message},
    }
    return json.dumps(payload, ensure_ascii=False).encode()


def request_of(payload: bytes, settings: Mapping[str, str]) -> urllib.request.Request:
    """The signed request.

    Args:
        settings: GPULAB_EVENTS_URL, and GPULAB_TOKEN (Argo's bearer token) or GPULAB_WEBHOOK_SECRET (GitHub's HMAC).

    Raises:
        InputError: one is missing, or would show the token to others.
    """
    url = _endpoint(settings.get(EVENTS_URL, "").strip())
    headers = {"Content-Type": "application/json", "X-GitHub-Event": "push"} | dict(_proof(payload, settings))
    return urllib.request.Request(url, payload, headers, method="POST")  # noqa: S310  `_endpoint` allows http(s) only


def send(request: urllib.request.Request) -> None:
    """Make the request.

    Raises:
        InputError: the server does not take this token or knows no such address.
        PlatformError: it cannot be reached, or is in trouble itself.
    """
    host = urlsplit(request.full_url).hostname
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=SECONDS):
            return
    except urllib.error.HTTPError as error:
        with error:
            code = error.code
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise PlatformError(f"{host} cannot be reached ({reason}). Nothing was started; try again.") from None
    if code in (401, 403):
        raise InputError(f"{TOKEN}: {host} refused it with status {code}. Ask for a token that may create events.")
    if code == 429 or code >= 500:
        raise PlatformError(f"{host} answered with status {code}. Nothing was started; try again.")
    raise InputError(f"{EVENTS_URL}: {host} answered with status {code}, so this is not where Argo takes events.")


def _endpoint(url: str) -> str:
    expected = "https://<argo-server>/api/v1/events/<namespace>/gpulab"
    if not url:
        raise InputError(f"{EVENTS_URL} is not set. Type: export {EVENTS_URL}={expected}")
    try:
        parts = urlsplit(url)
        safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in HERE)
        whole = bool(parts.hostname) and (parts.port or 443) > 0 and not (parts.query or parts.fragment)
    except ValueError:
        safe = whole = False
    if not (safe and whole and "@" not in parts.netloc and re.fullmatch(ENDPOINT, parts.path)):
        raise InputError(
            f"{EVENTS_URL}: found {without_credentials(url)!r}, allowed: {expected} (http only on this machine)"
        )
    return url


def _proof(payload: bytes, settings: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    token = settings.get(TOKEN, "").strip().removeprefix("Bearer ").strip()
    secret = settings.get(SECRET, "").strip()
    if not (token or secret):
        raise InputError(f"{TOKEN} is not set. Store Argo's token as a secret of your CI under that name.")
    if not (token.isascii() and token.isprintable()):
        raise InputError(f"{TOKEN}: has characters that no token has. Copy it again, as one line.")
    if token:
        yield "Authorization", f"Bearer {token}"
    if secret:
        yield "X-Hub-Signature-256", f"sha256={hmac.new(secret.encode(), payload, hashlib.sha256).hexdigest()}"
