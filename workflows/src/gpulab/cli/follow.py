"""Show a run while it goes: one plain line per state change; bars only at a terminal, and only from here."""

import dataclasses
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from gpulab.cli.words import is_terminal, say
from gpulab.engines.protocol import Change, Phase
from gpulab.errors import one_line
from gpulab.node_names import ATTEMPT, plain

MESSAGE = 400
"""Characters of a node's message that are shown; a project's own tests leave the end of their log."""


def lines(changes: Iterable[Change]) -> Iterator[Change]:
    """The state changes of a run that are worth a line; a step that was retried tells its last attempt's reason."""
    reasons: dict[str, str] = {}
    for change in changes:
        if ATTEMPT.search(change.node):
            reasons[ATTEMPT.sub("", change.node)] = change.message.removeprefix("main: ")
        if change.phase is not Phase.PENDING and means_something(change):
            message = reasons.get(change.node, change.message) if change.phase.bad else change.message
            yield dataclasses.replace(change, node=plain(change.node), message=message)


def means_something(change: Change) -> bool:
    """Steps and the run itself; not groups, not the single attempts of a step."""
    if change.type == "Workflow":
        return change.phase is not Phase.RUNNING
    return change.type == "Retry" or (change.type == "Pod" and not ATTEMPT.search(change.node))


def as_line(change: Change) -> str:
    """`18:04:31  verify on cpu      Failed     Error (exit code 1): …`."""
    message = f"  {one_line(change.message, MESSAGE)}" if change.message else ""
    return f"{change.time[11:19]}  {change.node:<18} {change.phase:<10}{message}".rstrip()


def follow_plain(changes: Iterable[Change]) -> None:
    """Print each state change of a run until it ends."""
    for change in lines(changes):
        say(as_line(change))


def follow(changes: Iterable[Change]) -> None:
    """The same, with a moving line for what runs right now when a person watches."""
    with _spinner() as status:
        running: dict[str, None] = {}
        for change in lines(changes):
            say(as_line(change))
            running.pop(change.node, None)
            if change.phase is Phase.RUNNING and change.type != "Workflow":
                running[change.node] = None
            if status is not None:
                status.update(f"running: {', '.join(running) or '…'}   (Ctrl-C stops watching, not the run)")


def _spinner() -> AbstractContextManager[Any]:
    """Rich's moving line, or None where nobody watches."""
    if not is_terminal():
        return nullcontext()
    from rich.console import Console

    return Console().status("starting…")
