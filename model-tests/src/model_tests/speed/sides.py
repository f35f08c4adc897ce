"""All sides of one speed phase: started, asked, watched and ended together."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from model_tests.speed.decision import AGAIN, CANDIDATE
from model_tests.speed.side import Reply, Side, SideError

# Finding and measuring processes costs milliseconds.
MEMORY_SECONDS = 1.0
GIB = 2**30

Ended = Literal["decided", "hopeless", "rounds", "budget", "failed", "memory", "stopped"]


class PhaseEndError(Exception):
    """The whole phase ends here; `ended` as in the record, the text for a person."""

    def __init__(self, ended: Ended, message: str = "") -> None:
        super().__init__(message)
        self.ended: Ended = ended


@dataclass
class Sides:
    """The sides that are still in, by name, and what became of all of them.

    Attributes:
        memory: bytes that all of them may have in memory together.
        stop: set when the phase is to end.
        until: the end of the budget, in monotonic seconds.
        records: a row of the record for each side, those that are out too.
    """

    memory: float
    stop: threading.Event
    until: float
    alive: dict[str, Side] = field(default_factory=dict)
    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    _looked: float = 0.0

    def start(self, commands: Mapping[str, Sequence[str]], environment: Mapping[str, str], log: Path) -> None:
        """Start all, and wait until each has said that it is there."""
        for name, command in commands.items():
            self.records[name] = {"status": "ok", "message": ""}
            self.alive[name] = Side(name, command, environment, log, self.watch)
        self.hear_all()

    def end(self) -> None:
        """End all."""
        for side in self.alive.values():
            side.end()

    @property
    def baselines(self) -> list[str]:
        """The baselines that are still in."""
        return [name for name in self.alive if name not in (CANDIDATE, AGAIN)]

    def ask_all(self, do: str) -> dict[str, Reply]:
        """Let all sides do the same at the same time."""
        for name, side in list(self.alive.items()):
            self._guarded(name, lambda side=side: side.tell(do))  # type: ignore[misc]  # bound now, not later
        return self.hear_all()

    def hear_all(self) -> dict[str, Reply]:
        """Return what each side answers."""
        heard = {name: self._guarded(name, self._hearing(side)) for name, side in list(self.alive.items())}
        return {name: reply for name, reply in heard.items() if reply is not None}

    def _hearing(self, side: Side) -> Callable[[], Reply]:
        return lambda: side.hear(self.until)

    def ask(self, name: str, do: str, until: float | None = None, **arguments: int) -> Reply | None:
        """Ask one side; None when it is out for that."""
        side, end = self.alive[name], self.until if until is None else until
        return self._guarded(name, lambda: side.ask(do, end, **arguments))

    def _guarded(self, name: str, ask: Callable[[], Reply | None]) -> Reply | None:
        """A baseline that fails is out of the comparison; without both copies of the candidate there is none."""
        try:
            return ask()
        except SideError as error:
            self.records[name] |= {"status": "failed", "message": str(error)}
            self.alive.pop(name).end()
            if name in (CANDIDATE, AGAIN) or not self.baselines:
                raise PhaseEndError("failed") from error
        return None

    def watch(self) -> None:
        """End the phase when it is stopped from outside, or when the sides take too much memory."""
        if self.stop.is_set():
            raise PhaseEndError("stopped", "it was stopped from outside (SIGTERM)")
        if time.monotonic() - self._looked < MEMORY_SECONDS:
            return
        self._looked = time.monotonic()
        used = sum(side.group.resident(side.group.members()) for side in self.alive.values())
        if used > self.memory:
            raise PhaseEndError("memory", f"{len(self.alive)} copies used {used / GIB:.1f} GiB of memory together")
