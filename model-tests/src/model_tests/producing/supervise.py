"""Run a command in its own session, under a time and a memory limit, with its output captured; end all of it after.

Nothing that the command does can raise out of here: every way to end is an `Outcome`.
"""

from __future__ import annotations

import contextlib
import secrets
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from model_tests.producing.group import OPTIONS, Group
from model_tests.producing.log import capture

POLL_SECONDS = 0.05
# Looking through all processes costs milliseconds: their list is renewed this often, their memory read at each poll.
POLLS_PER_LISTING = 10
# Every process started by the command inherits this variable, also one that left its session.
MARK = "MODEL_TESTS_RUN"

How = Literal["exited", "timeout", "out-of-memory", "stopped"]


@dataclass(frozen=True)
class Limits:
    """Wall-clock seconds and resident bytes (all processes of the command together)."""

    seconds: float
    memory: float


@dataclass(frozen=True)
class Outcome:
    """How a command ended. `code` is its exit code, negative for a signal; `peak` is resident bytes at most.

    `stopped`: the supervisor itself was asked to end (SIGTERM).
    """

    how: How
    code: int
    seconds: float
    peak: int


def supervise(command: Sequence[str], env: Mapping[str, str], log: Path, limits: Limits) -> Outcome:
    """Run `command` to its end or to a limit; its stdout and stderr go to `log`, in head and tail."""
    started, mark = time.monotonic(), secrets.token_hex(16)
    process = subprocess.Popen(
        command,
        env={**env, MARK: mark},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        **OPTIONS,
    )
    group = Group(process, f"{MARK}={mark}")
    reader = threading.Thread(target=capture, args=(process.stdout, log), daemon=True)
    reader.start()
    with sigterm() as stop:
        try:
            how, peak = _watch(process, group, stop, started, limits)
        finally:
            end(process, group)
    reader.join(timeout=5)
    return Outcome(how, process.returncode, time.monotonic() - started, peak)


def _watch(
    process: subprocess.Popen[bytes], group: Group, stop: threading.Event, started: float, limits: Limits
) -> tuple[How, int]:
    """Wait for the end or a limit; return how it ended and the peak of the memory."""
    peak, polls, pids = 0, 0, {process.pid}
    while not _finished(process):
        if polls % POLLS_PER_LISTING == 0:
            pids = group.members()
        polls += 1
        used = group.resident(pids)
        peak = max(peak, used)
        if stop.is_set():
            return "stopped", peak
        if used > limits.memory:
            return "out-of-memory", peak
        if time.monotonic() - started > limits.seconds:
            return "timeout", peak
    return "exited", peak


def _finished(process: subprocess.Popen[bytes]) -> bool:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=POLL_SECONDS)
    return process.returncode is not None


def end(process: subprocess.Popen[bytes], group: Group) -> None:
    """End all of the group; what forks on is caught in a later turn."""
    for _ in range(20):
        nobody = group.kill()
        if _finished(process) and nobody:
            return


@contextlib.contextmanager
def sigterm() -> Iterator[threading.Event]:
    """Turn SIGTERM into an event, so that the command is ended and not left behind."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = signal.signal(signal.SIGTERM, lambda *_: stop.set())
    try:
        yield stop
    finally:
        signal.signal(signal.SIGTERM, before)
