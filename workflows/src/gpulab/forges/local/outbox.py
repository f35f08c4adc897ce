"""Events that a step of a run caused, kept until the run has ended: the local forge's webhooks.

A step cannot start a run itself: whatever a container leaves behind is killed when it ends. So the forge of a step
puts its events here, and the engine takes them after the run, or the next `gpulab` command does.
"""

import time
from collections.abc import Callable
from dataclasses import asdict

from gpulab.events import Event, PullRequestEvent, PushEvent
from gpulab.files import locked, read_json, readable, write_json
from gpulab.home import Home


def put(home: Home, event: Event) -> None:
    """Keep an event for later."""
    kind = "push" if isinstance(event, PushEvent) else "pull-request"
    write_json(home.events / f"{time.time_ns():020}.json", {"kind": kind, **asdict(event)})


def take(home: Home, deliver: Callable[[Event], object]) -> None:
    """Deliver what is kept, oldest first; two who take at the same time deliver each event once."""
    if not home.events.is_dir():
        return
    with locked(home.events):
        for file in sorted(home.events.glob("*.json")):
            with readable(file):
                document = read_json(file)
                kind = PushEvent if document.pop("kind") == "push" else PullRequestEvent
                event = kind(**document)
            deliver(event)
            file.unlink()
