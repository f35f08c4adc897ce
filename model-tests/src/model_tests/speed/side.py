"""One side of the comparison as its parent sees it: a process that is asked, and timed by the parent's own clock."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import secrets
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from model_tests.producing.group import OPTIONS, Group
from model_tests.producing.log import capture
from model_tests.producing.supervise import MARK, end

LONGEST_REPLY = 64 * 1024
MOST_MARKS = 100_000
WAIT_SECONDS = 0.2


class SideError(Exception):
    """A side cannot go on; the text says why, in words for a person."""


@dataclass
class Reply:
    """What a side answered, and when each of its steps ended (seconds of the parent's clock)."""

    marks: list[float] = field(default_factory=list)
    said: dict[str, Any] = field(default_factory=dict)

    @property
    def steps(self) -> list[float]:
        """Seconds from one mark to the next."""
        return [after - before for before, after in zip(self.marks, self.marks[1:], strict=False)]


class Side:
    """A process in a session of its own; `end` it whatever happens.

    Args:
        watch: called while an answer is waited for; may raise, to end the whole phase (memory, a stop).
    """

    def __init__(
        self, name: str, command: Sequence[str], env: Mapping[str, str], log: Path, watch: Callable[[], None]
    ) -> None:
        self.name, self._watch, secret = name, watch, secrets.token_hex(16)
        self._replies: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
        self.process = subprocess.Popen(
            command,
            env={**env, MARK: secret},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **OPTIONS,
        )
        self.group = Group(self.process, f"{MARK}={secret}")
        for task, stream in ((self._listen, self.process.stdout), (lambda s: capture(s, log), self.process.stderr)):
            threading.Thread(target=task, args=(stream,), daemon=True).start()

    def _listen(self, stream: Any) -> None:
        """Note when each piece of an answer came; an empty piece: no more will."""
        while True:
            try:
                piece = os.read(stream.fileno(), LONGEST_REPLY)
            except (OSError, ValueError):
                piece = b""
            self._replies.put((time.perf_counter(), piece))
            if not piece:
                return

    def tell(self, do: str, **arguments: int) -> None:
        """Send a command. SideError when nobody listens any more."""
        assert self.process.stdin is not None  # noqa: S101 - it is a pipe
        try:
            self.process.stdin.write(json.dumps({"do": do, **arguments}).encode() + b"\n")
            self.process.stdin.flush()
        except OSError as error:
            raise SideError(self._ended()) from error

    def hear(self, until: float) -> Reply:
        """Return the answer to the last command. SideError when there is none until then (monotonic seconds)."""
        reply, text = Reply(), b""
        while not text.endswith(b"\n"):
            moment, piece = self._piece(until)
            if not piece:
                raise SideError(self._ended())
            points = 0 if text else len(piece) - len(piece.lstrip(b"."))
            reply.marks += [moment] * points
            text += piece[points:]
            if len(text) > LONGEST_REPLY or len(reply.marks) > MOST_MARKS:
                raise SideError("it did not answer as the harness does")
        reply.said = _parsed(text)
        return reply

    def ask(self, do: str, until: float, **arguments: int) -> Reply:
        """Send a command and return its answer."""
        self.tell(do, **arguments)
        return self.hear(until)

    def _piece(self, until: float) -> tuple[float, bytes]:
        while True:
            with contextlib.suppress(queue.Empty):
                return self._replies.get(timeout=WAIT_SECONDS)
            self._watch()
            if time.monotonic() > until:
                raise SideError("it did not answer in the time that [benchmark] budget_seconds leaves")

    def _ended(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=1)
        return f"its process ended with exit code {self.process.returncode}"

    def end(self) -> None:
        """Kill the process and all that it started."""
        end(self.process, self.group)
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                if stream:
                    stream.close()


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise SideError("it did not answer as the harness does")
    if said.get("status") != "ok":
        raise SideError(str(said.get("message", "it gave no reason"))[:500])
    return said
