"""Requests that are tried again, and those that are not."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from gpulab.kubernetes import ApiError, path_of

PATH = path_of("v1", "ConfigMap", "lab-ci", "a")
DOCUMENT = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "1"}}
Refusal = Callable[..., httpx.Response]


@pytest.mark.parametrize(
    ("api_version", "kind", "name", "path"),
    [
        ("v1", "Pod", "", "/api/v1/namespaces/n/pods"),
        ("v1", "Service", "a", "/api/v1/namespaces/n/services/a"),
        ("networking.k8s.io/v1", "NetworkPolicy", "a", "/apis/networking.k8s.io/v1/namespaces/n/networkpolicies/a"),
        ("argoproj.io/v1alpha1", "Workflow", "", "/apis/argoproj.io/v1alpha1/namespaces/n/workflows"),
    ],
)
def test_an_objects_path(api_version: str, kind: str, name: str, path: str) -> None:
    assert path_of(api_version, kind, "n", name) == path


@pytest.mark.parametrize(("code", "reason"), [(429, "TooManyRequests"), (500, "InternalError"), (409, "Conflict")])
def test_a_busy_server_is_asked_again(server: Any, refusal: Refusal, code: int, reason: str) -> None:
    server.answers = [refusal(code, reason), refusal(code, reason)]
    server.api().apply(PATH, DOCUMENT)
    assert server.objects[PATH]["data"] == {"x": "1"}
    assert server.pauses == [0.5, 1.0]


def test_the_server_says_how_long_to_wait(server: Any, refusal: Refusal) -> None:
    server.answers = [refusal(429, "TooManyRequests", **{"Retry-After": "3"})]
    assert server.api().get(PATH) is None
    assert server.pauses == [3.0]


def test_a_lost_connection_is_made_again(server: Any) -> None:
    server.answers = [httpx.ConnectError("refused"), httpx.ReadTimeout("slow")]
    assert server.api().get(PATH) is None


def test_it_gives_up_in_words(server: Any, refusal: Refusal) -> None:
    server.answers = [refusal(503, "ServiceUnavailable", "etcd is away") for _ in range(9)]
    with pytest.raises(ApiError, match="503 ServiceUnavailable: etcd is away"):
        server.api().get(PATH)
    assert len(server.requests) == 6


@pytest.mark.parametrize(("code", "reason"), [(403, "Forbidden"), (422, "Invalid"), (401, "Unauthorized")])
def test_a_refusal_is_final(server: Any, refusal: Refusal, code: int, reason: str) -> None:
    server.answers = [refusal(code, reason)]
    with pytest.raises(ApiError) as caught:
        server.api().apply(PATH, DOCUMENT)
    assert (caught.value.status, caught.value.reason, server.pauses) == (code, reason, [])


def test_a_creation_whose_answer_got_lost_is_done(server: Any) -> None:
    """The server made the object, and the connection broke before it could say so."""
    server.objects[PATH] = DOCUMENT
    server.answers = [httpx.ReadError("reset")]
    server.api().create(PATH.rsplit("/", 1)[0], DOCUMENT)
    assert [verb for verb, _ in server.requests] == ["POST", "POST"]


def test_deleting_what_is_not_there_says_so(server: Any) -> None:
    server.objects[PATH] = DOCUMENT
    assert [server.api().delete(PATH), server.api().delete(PATH)] == [True, False]
