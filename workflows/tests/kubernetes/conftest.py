"""An API server in memory, at the HTTP edge: what talks to it is the real client."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from gpulab.kubernetes import Api

Json = dict[str, Any]


class FakeServer:
    """Objects by path; `answers` come before anything else, in turn; `after` is called after each change."""

    def __init__(self) -> None:
        self.objects: dict[str, Json] = {}
        self.logs: dict[str, str] = {}
        self.answers: list[httpx.Response | Exception] = []
        self.requests: list[tuple[str, str]] = []
        self.pauses: list[float] = []
        self.after: Callable[[str, str], None] = lambda verb, path: None

    def api(self) -> Api:
        http = httpx.Client(base_url="https://kubernetes", transport=httpx.MockTransport(self._handle))
        return Api(http, self.pauses.append)

    def changes(self, kind: str = "") -> list[tuple[str, str]]:
        """Verb and last part of the path of each request that changes something."""
        return [(verb, path.rsplit("/", 1)[-1]) for verb, path in self.requests if verb != "GET" and kind in path]

    def _handle(self, request: httpx.Request) -> httpx.Response:
        verb, path = request.method, request.url.path
        self.requests.append((verb, path))
        if self.answers:
            answer = self.answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer
        answer = self._answer(verb, path, request)
        self.after(verb, path)
        return answer

    def _answer(self, verb: str, path: str, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content) if request.content else {}
        if path.endswith("/log"):
            name = f"{path}?previous" if request.url.params.get("previous") == "true" else path
            return httpx.Response(200, text=self.logs[name]) if name in self.logs else status(400, "BadRequest")
        if verb == "POST":
            place = f"{path}/{body['metadata']['name']}"
            if place in self.objects:
                return status(409, "AlreadyExists")
            self.objects[place] = body | {"status": {}}
            return httpx.Response(201, json=self.objects[place])
        if verb == "PATCH":
            assert request.headers["Content-Type"] == "application/apply-patch+yaml"
            assert dict(request.url.params)["fieldManager"] == "gpulab"
            self.objects[path] = self.objects.get(path, {}) | body
            return httpx.Response(200, json=self.objects[path])
        if verb == "GET" and path.endswith("/pods"):
            return httpx.Response(200, json={"items": self._listed(path, request.url.params)})
        if path not in self.objects:
            return status(404, "NotFound")
        found = self.objects[path]
        if verb == "DELETE":
            del self.objects[path]
        return httpx.Response(200, json=found)

    def _listed(self, path: str, params: httpx.QueryParams) -> list[Json]:
        wanted = dict(one.split("=") for one in params.get("labelSelector", "").split(",") if one)
        found = [one for place, one in self.objects.items() if place.rsplit("/", 1)[0] == path]
        return [one for one in found if wanted.items() <= one["metadata"].get("labels", {}).items()]


def status(code: int, reason: str, message: str = "", **headers: str) -> httpx.Response:
    document = {"kind": "Status", "code": code, "reason": reason, "message": message or reason}
    return httpx.Response(code, json=document, headers=headers)


@pytest.fixture
def server() -> FakeServer:
    return FakeServer()


@pytest.fixture
def refusal() -> Callable[..., httpx.Response]:
    return status
