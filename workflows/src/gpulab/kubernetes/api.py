"""The verbs that gpulab uses of the Kubernetes API, each tried again while the server is busy."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from gpulab.errors import PlatformError
from gpulab.retry_after import retry_after

Json = dict[str, Any]
FIELD_MANAGER = "gpulab"
BUSY = frozenset({429, 500, 502, 503, 504})
"""Answers of an API server that starts, sheds load or lost its store for a moment."""

PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds before each further attempt; a `Retry-After` of the server counts instead, up to LONGEST_PAUSE."""

LONGEST_PAUSE = 15.0
GONE = "unable to retrieve container logs"
"""A kubelet's answer, with status 200, for a container that it has removed already."""


class ApiError(PlatformError):
    """The API server refused a request, or never answered.

    Attributes:
        status: of HTTP; 0 when there was no answer.
        reason: Kubernetes' word, e.g. `Forbidden`.
        message: its sentence.
    """

    def __init__(self, verb: str, path: str, status: int, reason: str, message: str) -> None:
        self.status, self.reason, self.message = status, reason, message
        super().__init__(f"{verb} {path}: {status or 'no answer'} {reason}: {message}"[:600])


@dataclass(frozen=True)
class Api:
    """One API server, with the rights of whoever `http` logs in as.

    Attributes:
        http: with the server's address and credentials.
        pause: waits some seconds.
    """

    http: httpx.Client
    pause: Callable[[float], object] = time.sleep

    def get(self, path: str) -> Json | None:
        """An object; None when there is none.

        Raises:
            ApiError: of every method: refused, or busy for too long.
        """
        return self._json("GET", path, missing_is_none=True)

    def list(self, path: str, **selectors: str) -> "list[Json]":
        """The objects of a collection, by `labelSelector` or `fieldSelector`."""
        found = self._json("GET", path, params=selectors)
        return list((found or {}).get("items", []))

    def text(self, path: str, **params: str) -> str:
        """A sub-resource that is no JSON, e.g. a log; empty when there is none."""
        answer = self._send("GET", path, params=params)
        return answer.text if answer.is_success and not answer.text.startswith(GONE) else ""

    def create(self, path: str, document: Mapping[str, Any]) -> None:
        """Create an object in a collection; there is none of its name yet, or it is this very one.

        A creation whose answer got lost is found done by its own second attempt.
        """
        answer = self._send("POST", path, content=json.dumps(document))
        if not answer.is_success and _reason(answer) != "AlreadyExists":
            raise _error("POST", path, answer)

    def ask(self, path: str, document: Mapping[str, Any]) -> Json:
        """The answer to a question that stores nothing, e.g. a SubjectAccessReview."""
        return self._json("POST", path, content=json.dumps(document)) or {}

    def apply(self, path: str, document: Mapping[str, Any]) -> Json:
        """Server-side apply: the fields of `document` become ours, whoever had them; no other field is touched."""
        applied = self._json(
            "PATCH",
            path,
            params={"fieldManager": FIELD_MANAGER, "force": "true", "fieldValidation": "Strict"},
            content=json.dumps(document),
            headers={"Content-Type": "application/apply-patch+yaml"},
        )
        return applied or {}

    def delete(self, path: str) -> bool:
        """Delete an object and what it owns, in the background; False when there is none."""
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        return self._json("DELETE", path, missing_is_none=True, content=json.dumps(options)) is not None

    def _json(self, verb: str, path: str, missing_is_none: bool = False, **request: Any) -> Json | None:
        answer = self._send(verb, path, **request)
        if answer.status_code == 404 and missing_is_none:
            return None
        if not answer.is_success:
            raise _error(verb, path, answer)
        document: Json = answer.json()
        return document

    def _send(self, verb: str, path: str, **request: Any) -> httpx.Response:
        headers = {"Content-Type": "application/json", **request.pop("headers", {})}
        for pause in (*PAUSES, None):
            try:
                answer = self.http.request(verb, path, headers=headers, **request)
            except httpx.TransportError as error:
                if pause is None:
                    raise ApiError(verb, path, 0, type(error).__name__, str(error)) from None
                self.pause(pause)
                continue
            if pause is None or not _is_busy(answer):
                break
            self.pause(_pause(answer, pause))
        return answer


def _is_busy(answer: httpx.Response) -> bool:
    """Whether the same request may be answered otherwise in a moment; `Conflict`: somebody wrote at the same time."""
    return answer.status_code in BUSY or (answer.status_code == 409 and _reason(answer) == "Conflict")


def _pause(answer: httpx.Response, pause: float) -> float:
    asked = retry_after(answer)
    return pause if asked is None else min(asked, LONGEST_PAUSE)


def _status(answer: httpx.Response) -> Json:
    try:
        document = answer.json()
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _reason(answer: httpx.Response) -> str:
    return str(_status(answer).get("reason", ""))


def _error(verb: str, path: str, answer: httpx.Response) -> ApiError:
    message = str(_status(answer).get("message") or answer.text[:200])
    return ApiError(verb, path, answer.status_code, _reason(answer), message)
