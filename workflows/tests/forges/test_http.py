"""Retries, pages and errors of a forge's API, against recorded answers."""

import itertools
from collections.abc import Callable

import httpx
import pytest
from gpulab.errors import PlatformError
from gpulab.forges.http import BUDGET_SECONDS, Http, RefusedError, api

TOKEN = "secret-token-of-the-bot"  # noqa: S105
Handler = Callable[[httpx.Request], httpx.Response]


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def http(handler: Handler, clock: Clock) -> Http:
    made = api("https://forge.example/api/v1", {"Authorization": f"token {TOKEN}"}, httpx.MockTransport(handler))
    return Http(made.client, clock.sleep, lambda: clock.now)


def answers(*said: httpx.Response | Exception) -> tuple[Handler, list[httpx.Request]]:
    asked: list[httpx.Request] = []
    left = iter(said)

    def handler(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        one = next(left)
        if isinstance(one, Exception):
            raise one
        return one

    return handler, asked


@pytest.mark.parametrize(
    "trouble",
    [
        httpx.Response(429),
        httpx.Response(500, json={"message": "oops"}),
        httpx.Response(502, text="<html>"),
        httpx.Response(503),
        httpx.Response(403, headers={"x-ratelimit-remaining": "0"}),
        httpx.ConnectError("refused"),
        httpx.ReadTimeout("slow"),
        httpx.RemoteProtocolError("closed"),
    ],
)
def test_trouble_of_the_forge_is_tried_again(trouble: httpx.Response | Exception) -> None:
    handler, asked = answers(trouble, trouble, httpx.Response(200, json={"ok": True}))
    clock = Clock()
    assert http(handler, clock).ask("GET", "repos/o/n") == {"ok": True}
    assert len(asked) == 3
    assert clock.slept == [0.5, 1.0]
    assert str(asked[0].url) == "https://forge.example/api/v1/repos/o/n"


def test_the_forge_says_how_long_to_wait() -> None:
    clock = Clock()
    handler, _ = answers(httpx.Response(429, headers={"Retry-After": "7"}), httpx.Response(204))
    assert http(handler, clock).ask("POST", "x", {}) is None
    assert clock.slept == [7.0]


def test_a_wait_beyond_the_budget_ends_at_once() -> None:
    clock = Clock()
    handler, asked = answers(httpx.Response(429, headers={"Retry-After": "3600"}))
    with pytest.raises(PlatformError, match=r"forge.example was asked to GET x: 429"):
        http(handler, clock).ask("GET", "x")
    assert (len(asked), clock.slept) == (1, [])


def test_the_budget_ends_the_tries_in_words_without_the_token() -> None:
    clock = Clock()
    with pytest.raises(PlatformError, match=r"forge.example was asked to GET repos/o/n: no answer") as error:
        http(lambda request: (_ for _ in ()).throw(httpx.ConnectError("refused")), clock).ask("GET", "repos/o/n")
    assert TOKEN not in str(error.value)
    assert BUDGET_SECONDS - 15 <= clock.now <= BUDGET_SECONDS


@pytest.mark.parametrize(("status", "word"), [(401, "expired"), (404, "moved"), (403, "may not"), (422, "already")])
def test_a_refusal_is_not_tried_again(status: int, word: str) -> None:
    clock = Clock()
    said = {"message": "Validation Failed", "errors": [{"message": "it exists already"}]}
    handler, asked = answers(httpx.Response(status, json=said))
    with pytest.raises(RefusedError, match=word) as error:
        http(handler, clock).ask("POST", "x", {})
    assert len(asked) == 1
    assert TOKEN not in str(error.value) + repr(error.value) + repr(http(handler, clock))


@pytest.mark.parametrize(
    ("trouble", "tries"),
    [(httpx.ConnectError("x"), 2), (httpx.Response(429), 2), (httpx.ReadTimeout("x"), 1), (httpx.Response(500), 1)],
)
def test_what_must_happen_once_is_tried_again_only_when_it_was_not_done(
    trouble: httpx.Response | Exception, tries: int
) -> None:
    handler, asked = answers(trouble, httpx.Response(200))
    if tries == 1:
        with pytest.raises(PlatformError):
            http(handler, Clock()).ask("POST", "merge", {}, once=True)
    else:
        http(handler, Clock()).ask("POST", "merge", {}, once=True)
    assert len(asked) == tries


@pytest.mark.parametrize("total", [0, 1, 49, 50, 51, 100, 120])
def test_all_pages_are_read(total: int) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        page, size = int(request.url.params["page"]), int(request.url.params["per_page"])
        return httpx.Response(200, json={"statuses": list(range(total))[(page - 1) * size : page * size]})

    found = list(itertools.islice(http(handler, Clock()).pages("s", "statuses"), 1000))
    assert found == list(range(total))


def test_a_server_with_smaller_pages_says_that_there_are_more() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        page = int(request.url.params["page"])
        more = {"Link": f'<https://forge.example/s?page={page + 1}>; rel="next"'} if page < 3 else {}
        return httpx.Response(200, json=[page], headers=more)

    assert list(http(handler, Clock()).pages("s")) == [1, 2, 3]


def test_an_address_that_is_no_api_is_said_in_words() -> None:
    handler, _ = answers(httpx.Response(200, text="<html>"))
    with pytest.raises(PlatformError, match="is no JSON"):
        http(handler, Clock()).ask("GET", "x")


def test_a_redirect_is_not_followed() -> None:
    handler, asked = answers(httpx.Response(302, headers={"Location": "https://elsewhere.example/"}))
    with pytest.raises(RefusedError):
        http(handler, Clock()).ask("GET", "x")
    assert len(asked) == 1
