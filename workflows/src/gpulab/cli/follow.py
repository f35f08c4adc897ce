"""Show a run while it goes: one plain line per state change; bars only at a terminal, and only from here."""

from collections.abc import Iterator
from contextlib import nullcontext

from gpulab.cli.words import is_terminal, say
from gpulab.engines.local_engine import local_engine
from gpulab.engines.protocol import Change, Phase
from gpulab.home import Home

SHOWN = ("Pod", "TaskGroup", "Workflow")
"""Kinds of node that mean something to a person; the rest is bookkeeping."""


def lines(home: Home, project: str, run: str) -> Iterator[Change]:
    """The state changes of a run that are worth a line."""
    for change in local_engine(home, project).follow(run):
        if change.type in SHOWN and change.phase is not Phase.PENDING:
            yield change


def as_line(change: Change) -> str:
    """`18:04:31  verify(0:cpu)  Failed  precision/float16: …`."""
    message = f"  {change.message}" if change.message else ""
    return f"{change.time[11:19]}  {change.node:<18} {change.phase:<10}{message}".rstrip()


def follow_plain(home: Home, run: str, project: str) -> None:
    """Print each state change until the run ends."""
    for change in lines(home, project, run):
        say(as_line(change))


def follow(home: Home, run: str, project: str) -> None:
    """The same, with a moving line for what runs right now when a person watches."""
    with _spinner() as status:
        running: dict[str, None] = {}
        for change in lines(home, project, run):
            say(as_line(change))
            running.pop(change.node, None)
            if change.phase is Phase.RUNNING and change.type == "Pod":
                running[change.node] = None
            if status is not None:
                status.update(f"running: {', '.join(running) or '…'}   (Ctrl-C stops watching, not the run)")


def _spinner():  # type: ignore[no-untyped-def]  # rich's Status or nothing
    if not is_terminal():
        return nullcontext()
    from rich.console import Console

    return Console().status("starting…")
