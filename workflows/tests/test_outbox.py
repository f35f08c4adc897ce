import threading
from pathlib import Path

import pytest
from gpulab.engines import dispatch
from gpulab.events import Event, PullRequestEvent, PushEvent
from gpulab.forges.local import outbox
from gpulab.home import Home

EVENTS: list[Event] = [
    PushEvent("refs/heads/deploy/teaching", "0" * 40, "a" * 40),
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


def test_a_home_without_events_has_nothing_to_deliver(tmp_path: Path) -> None:
    dispatch.drain(Home(tmp_path), "lab")
    assert list(tmp_path.iterdir()) == []
