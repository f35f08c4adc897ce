"""The hooks of the local forge: `python -m gpulab.forges.local.hook post-receive HOME PROJECT`, refs on stdin.

`pre-receive` keeps people off the platform's branches and weights out of the history; `post-receive` starts the run,
detached, and shows it as plain `remote:` lines. Git ignores a post-receive hook's exit code: `gpulab push` is push,
watch and exit code.
"""

import dataclasses
import os
import re
import sys
from pathlib import Path

from gpulab.errors import GpulabError
from gpulab.events import RESERVED, PushEvent, Refusal
from gpulab.forges.local.blobs import heavy_blobs
from gpulab.home import Home
from gpulab.weights import refusal

QUIET = "GPULAB_HOOK_QUIET"
"""Set by `gpulab push`, which watches the run itself."""


def updates(told: bytes) -> list[PushEvent]:
    """What git tells a receive hook: `before after ref`, one per line; a ref may hold any other end of line."""
    lines = told.decode("utf-8", errors="surrogateescape").split("\n")
    rows = [line.split(" ", 2) for line in lines if line.count(" ") >= 2]
    return [PushEvent(ref=ref, before=before, after=after) for before, after, ref in rows]


def refused(events: list[PushEvent]) -> str | None:
    """Why a push is not accepted; None when it is."""
    for event in events:
        if re.match(RESERVED, event.ref):
            return f"{event.ref} is written by gpulab only. Push to main; `gpulab promote` opens the pull request."
    return None


def weights_in(repository: Path, events: list[PushEvent]) -> str | None:
    """Why a push is not accepted whose new commits hold weights or large files; None when they hold none."""
    found = heavy_blobs(repository, [event.after for event in events])
    return refusal(found) if found else None


def pre_receive(events: list[PushEvent]) -> int:
    """Refuse the whole push when one of its refs is not for people, or one of its commits holds weights."""
    reason = refused(events) or weights_in(Path.cwd(), events)  # git starts it in the bare repository
    if reason:
        print(f"gpulab: {reason}", file=sys.stderr)
    return 1 if reason else 0


def post_receive(home: Home, project: str, events: list[PushEvent]) -> int:
    """Start what the events start; then show the last run's state changes until it ends."""
    started = [one for one in (_start(home, project, event) for event in events) if one]
    if started and not os.environ.get(QUIET):
        from gpulab.cli.follow import follow_plain
        from gpulab.engines.local_engine import local_engine

        follow_plain(local_engine(home, project).follow(started[-1]))
    return 0


def _start(home: Home, project: str, event: PushEvent) -> str | None:
    from gpulab.engines.dispatch import deliver  # a refused push needs no engine
    from gpulab.engines.queue import ahead, forge_of

    try:
        outcome = deliver(home, project, dataclasses.replace(event, message=forge_of(home).message(event.after)))
    except GpulabError as error:  # the other refs of this push are to be started all the same
        print(f"gpulab: {event.ref}: no run: {error} To start what was missed: gpulab reconcile", flush=True)
        return None
    if isinstance(outcome, Refusal):
        print(f"gpulab: {event.ref}: no run: {outcome.reason}", flush=True)
        return None
    print(f"gpulab: run {outcome} started. Ctrl-C stops watching, not the run.", flush=True)
    waits_for = ahead(home, project, outcome)
    if waits_for:
        print(f"gpulab: it waits for {waits_for[0]}: this machine judges one push at a time", flush=True)
    return outcome


def main(arguments: list[str]) -> int:
    """Run one hook; trouble is one line, never a traceback in somebody's push."""
    from gpulab.cli.words import speak_utf8

    speak_utf8()
    hook, home, project = arguments
    events = updates(sys.stdin.buffer.read())
    try:
        if hook == "pre-receive":
            return pre_receive(events)
        return post_receive(Home(Path(home).resolve()), project, events)
    except GpulabError as error:
        print(f"gpulab: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
