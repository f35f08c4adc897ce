import json
import threading
from pathlib import Path

import pytest
from gpulab.engines import dispatch
from gpulab.errors import PlatformError
from gpulab.events import Event, PullRequestEvent, PushEvent
from gpulab.forges.local import outbox
from gpulab.home import Home

EVENTS: list[Event] = [
    PushEvent("refs/heads/deploy/teaching", "0" * 40, "a" * 40, "message"),
    PullRequestEvent(1, "deploy/production", "b" * 40),
    PushEvent("refs/heads/deploy/production", "a" * 40, "c" * 40),
]


def test_events_are_delivered_once_and_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, delivered = Home(tmp_path), []
    monkeypatch.setattr(dispatch, "deliver", lambda _home, _project, event: delivered.append(event))
    for event in EVENTS:
        outbox.put(home, event)
    threads = [threading.Thread(target=dispatch.drain, args=(home, "lab")) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert delivered == EVENTS
    dispatch.drain(home, "lab")
    assert delivered == EVENTS
    assert outbox.aside(home) == {}


def test_a_home_without_events_has_nothing_to_deliver(tmp_path: Path) -> None:
    dispatch.drain(Home(tmp_path), "lab")
    assert list(tmp_path.iterdir()) == []


class Receiver:
    """Takes events, all but the first kind."""

    def __init__(self, trouble: Exception) -> None:
        self.trouble = trouble
        self.taken: list[Event] = []
        self.well = False

    def __call__(self, event: Event) -> None:
        if event == EVENTS[0] and not self.well:
            raise self.trouble
        self.taken.append(event)


@pytest.mark.parametrize("trouble", [PlatformError("the disk is full"), KeyError("an internal error")])
def test_an_event_that_always_fails_blocks_no_other_and_is_moved_aside(tmp_path: Path, trouble: Exception) -> None:
    home, receiver = Home(tmp_path), Receiver(trouble)
    for event in EVENTS:
        outbox.put(home, event)
    outbox.take(home, receiver)
    assert receiver.taken == EVENTS[1:]
    assert outbox.aside(home) == {}
    for _ in range(outbox.TRIES):
        outbox.take(home, receiver)
    (why,) = outbox.aside(home).values()
    assert why.startswith("refs/heads/deploy/teaching: ")
    assert str(trouble) in why
    assert [file.name for file in home.events.glob("*.json")] == []
    receiver.well = True
    outbox.put_back(home)
    outbox.take(home, receiver)
    assert receiver.taken == [*EVENTS[1:], EVENTS[0]]
    assert outbox.aside(home) == {}


@pytest.mark.parametrize(
    "text", ["{", "[]", "null", '"x"', '{"kind": "x"}', '{"kind": "push"}', '{"kind": "push", "x": 1}']
)
def test_a_file_that_is_no_event_is_moved_aside(tmp_path: Path, text: str) -> None:
    home, receiver = Home(tmp_path), Receiver(PlatformError(""))
    home.events.mkdir()
    (home.events / "0.json").write_text(text)
    outbox.put(home, EVENTS[1])
    for _ in range(outbox.TRIES):
        outbox.take(home, receiver)
    assert receiver.taken == [EVENTS[1]]
    assert list(outbox.aside(home)) == ["0.json"]
    outbox.put_back(home)
    for _ in range(outbox.TRIES):
        outbox.take(home, receiver)
    assert list(outbox.aside(home)) == ["0.json"]


def test_an_event_kept_by_an_older_version_is_delivered(tmp_path: Path) -> None:
    home, receiver = Home(tmp_path), Receiver(PlatformError(""))
    home.events.mkdir()
    old = {"kind": "push", "ref": "refs/heads/x", "before": "0" * 40, "after": "a" * 40}
    (home.events / "1.json").write_text(json.dumps(old))
    outbox.take(home, receiver)
    assert receiver.taken == [PushEvent("refs/heads/x", "0" * 40, "a" * 40)]
