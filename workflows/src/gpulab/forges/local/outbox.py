"""Events that a step of a run caused, kept until the run has ended: the local forge's webhooks.

A step cannot start a run itself: whatever a container leaves behind is killed when it ends. So the forge of a step
puts its events here, and the engine takes them after the run, or the next `gpulab` command does. An event that
cannot be delivered is tried again, then moved aside: it must not stand in the way of those behind it.
"""

import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gpulab.errors import PlatformError
from gpulab.events import Event, PullRequestEvent, PushEvent
from gpulab.files import locked, read_json, readable, write_json
from gpulab.home import Home

TRIES = 3
KINDS: dict[str, type[PushEvent] | type[PullRequestEvent]] = {"push": PushEvent, "pull-request": PullRequestEvent}


def put(home: Home, event: Event) -> None:
    """Keep an event for later."""
    kind = next(name for name, one in KINDS.items() if isinstance(event, one))
    with locked(home.events):
        # behind the last one, also when the clock was set back
        last = max((int(file.name[:20]) for file in home.events.glob("*.json") if file.name[:20].isdigit()), default=0)
        write_json(home.events / f"{max(time.time_ns(), last + 1):020}.json", {"kind": kind, **asdict(event)})


def take(home: Home, deliver: Callable[[Event], object]) -> None:
    """Deliver what is kept, oldest first; two who take at the same time deliver each event once.

    What cannot be delivered stays for the next time, and is moved to `aside/` after `TRIES` times.
    """
    if not any(home.events.glob("*.json")):
        return  # nothing to lock for: the disk may be read-only
    with locked(home.events):
        for file in sorted(home.events.glob("*.json")):
            try:
                deliver(_event(file))
            except Exception as error:  # whatever it is, the events behind it are to be delivered
                _keep(file, str(error) or type(error).__name__)
            else:
                file.unlink()


def aside(home: Home) -> dict[str, str]:
    """The events that were moved aside, and why; by file name."""
    found = {}
    for file in sorted((home.events / "aside").glob("*.json")):
        with readable(file):
            document = read_json(file)
            found[file.name] = f"{document.get('ref') or document.get('base') or 'unreadable'}: {document['why']}"
    return found


def put_back(home: Home) -> None:
    """Try what was moved aside once more, with all its tries."""
    for name in aside(home):
        file = home.events / "aside" / name
        document = read_json(file)
        write_json(home.events / name, {key: value for key, value in document.items() if key not in ("tries", "why")})
        file.unlink()


def _event(file: Path) -> Event:
    with readable(file):
        document = read_json(file)
        kind = KINDS[document["kind"]]
        return kind(**{key: value for key, value in document.items() if key not in ("kind", "tries", "why")})


def _keep(file: Path, why: str) -> None:
    tries, document = _tried(file)
    write_json(file, document | {"tries": tries + 1, "why": why})
    if tries + 1 >= TRIES:
        (file.parent / "aside").mkdir(exist_ok=True)
        file.replace(file.parent / "aside" / file.name)


def _tried(file: Path) -> tuple[int, dict[str, Any]]:
    """How often it was tried, and what it holds; an unreadable file is at its end at once."""
    try:
        document = read_json(file)
    except PlatformError:
        document = None
    if not isinstance(document, dict) or document.get("kind") not in [*KINDS]:  # a list may hold what is no key
        return TRIES, {"unreadable": file.read_text(encoding="utf-8", errors="replace")[:2000]}
    tries = document.get("tries", 0)
    return (tries if isinstance(tries, int) else TRIES), document
