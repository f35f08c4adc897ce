"""A real Gitea behind a connection that breaks, and one that refuses a token."""

import socket
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from gpulab.errors import PlatformError
from gpulab.events import TEACHING
from gpulab.forges import Status
from gpulab.forges.clone import Clone
from gpulab.forges.gitea import GiteaApi, headers
from gpulab.forges.hosted import HostedForge
from gpulab.forges.http import BUDGET_SECONDS, Http, api

if TYPE_CHECKING:
    from conftest import Gitea

pytestmark = pytest.mark.cluster
RUNS = "https://argo.example/workflows/lab-ci"


class Gate:
    """Passes connections on, and drops as many as it is told to."""

    def __init__(self, to: str) -> None:
        parts = urlsplit(to)
        self.to = (parts.hostname or "", parts.port or 80)
        self.drop = 0
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                near, _ = self.listening.accept()
            except OSError:
                return
            if self.drop > 0:
                self.drop -= 1
                near.close()
                continue
            far = socket.create_connection(self.to)
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    @staticmethod
    def _pass_on(one: socket.socket, other: socket.socket) -> None:
        try:
            while data := one.recv(65536):
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)
        except OSError:
            other.close()


class Clock:
    """Moved by sleeping alone."""

    def __init__(self) -> None:
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def gate(gitea: "Gitea") -> Iterator[Gate]:
    gate = Gate(gitea.url)
    yield gate
    gate.listening.close()


def forge_at(url: str, repository: str, token: str, clock: Clock) -> HostedForge:
    client = api(f"{url}/api/v1", headers(token)).client
    client.headers["Connection"] = "close"  # every question is a connection of its own
    http = Http(client, clock.sleep, lambda: clock.now)
    clone = Clone(f"{url}/{repository}.git", token, clock.sleep, lambda: clock.now)
    return HostedForge(clone, GiteaApi(http, repository, RUNS))


def test_connections_that_break_lose_no_status_and_no_release(gitea: "Gitea", gate: Gate, repository: str) -> None:
    clock = Clock()
    forge = forge_at(gate.url, repository, gitea.token, clock)
    gate.drop = 2
    source = forge.head("main") or ""
    assert clock.now == 1.5
    gate.drop = 2
    forge.set_status(source, Status("gpulab/push", "pending", "…", "push-1"))
    gate.drop = 1
    commit = forge.commit(TEACHING, {"a": b"1"}, "one", None)
    gate.drop = 3
    assert forge.statuses(source)["gpulab/push"].run == "push-1"
    gate.drop = 1
    assert forge_at(gate.url, repository, gitea.token, clock).read(commit, "a") == b"1"
    assert gate.drop == 0


def test_a_forge_that_stays_away_is_told_in_words(gitea: "Gitea", gate: Gate, repository: str) -> None:
    clock = Clock()
    forge = forge_at(gate.url, repository, gitea.token, clock)
    gate.drop = 10_000
    place = gate.url.removeprefix("http://")
    with pytest.raises(PlatformError, match=rf"{place} was asked to POST repos/{repository}/statuses/aaa.*no answer"):
        forge.set_status("a" * 40, Status("gpulab/push", "pending", "…", "push-1"))
    assert clock.now <= BUDGET_SECONDS
    with pytest.raises(PlatformError, match=f"git ls-remote of {gate.url}/{repository}.git failed: .*Try again later"):
        forge.commit(TEACHING, {"a": b"1"}, "one", None)


def test_a_token_that_is_refused_is_not_tried_again(gitea: "Gitea", repository: str) -> None:
    clock, wrong = Clock(), "0123456789abcdef0123456789abcdef01234567"
    forge = forge_at(gitea.url, repository, wrong, clock)
    with pytest.raises(PlatformError, match=r"401 .*type gpulab project connect again") as error:
        forge.set_status("a" * 40, Status("gpulab/push", "pending", "…", "push-1"))
    with pytest.raises(PlatformError, match=r"git ls-remote of .* failed: .*[Aa]uthentication failed") as other:
        forge.head("main")
    assert clock.now == 0
    assert wrong not in str(error.value) + str(other.value)
