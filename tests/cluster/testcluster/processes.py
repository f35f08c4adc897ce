"""Processes that outlive us: each is known by its id and start time, and marked in its environment."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from testcluster.files import write
from testcluster.layout import MARK, Layout

GRACE = 10.0  # seconds between asking a process to end and ending it
KILLED = 5.0  # seconds that the kernel may take to end it


@dataclass(frozen=True)
class Record:
    """A process that was started; the start time (clock ticks since boot) tells it from a later one with its id."""

    part: str
    pid: int
    started: int
    command: str  # a digest of what it was started with

    @property
    def alive(self) -> bool:
        """Whether this very process still runs."""
        return start_time(self.pid) == self.started


def start_time(pid: int) -> int | None:
    """When a process started; None when there is none, or when it has ended and waits to be collected."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def start(layout: Layout, part: str, line: list[str], environment: dict[str, str], digest: str) -> Record:
    """Start a part in the background and record it."""
    log = layout.log(part)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as out:
        child = subprocess.Popen(
            line,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            cwd="/",
            env={**environment, MARK: str(layout.run)},
            start_new_session=True,
        )
    record = Record(part, child.pid, start_time(child.pid) or 0, digest)
    write(layout.records / f"{part}.json", json.dumps(asdict(record)))
    return record


def recorded(layout: Layout, part: str) -> Record | None:
    """The process of a part, alive or not; None when it was never started or its record is broken."""
    try:
        return Record(**json.loads((layout.records / f"{part}.json").read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def forget(layout: Layout, part: str) -> None:
    """A part's process is over."""
    (layout.records / f"{part}.json").unlink(missing_ok=True)


def marked(layout: Layout) -> Iterator[int]:
    """Every process that carries this cluster's mark: also one whose record a crash kept from being written."""
    return (pid for pid, run in _marks() if run == str(layout.run))


def others(layout: Layout) -> set[str]:
    """State folders of other clusters that are up on this machine."""
    return {run for _, run in _marks()} - {str(layout.run)}


def _marks() -> Iterator[tuple[int, str]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                variables = (entry / "environ").read_bytes().split(b"\0")
            except OSError:  # it has ended meanwhile
                continue
            found = [word.partition(b"=")[2].decode() for word in variables if word.startswith(f"{MARK}=".encode())]
            if found and start_time(int(entry.name)) is not None:
                yield int(entry.name), found[0]


def stop(*pids: int, grace: float = GRACE) -> None:
    """Ask processes to end and wait, for all together; end those that have not after `grace` seconds."""
    began = {pid: started for pid in pids if (started := start_time(pid)) is not None}
    for number, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, KILLED)):
        for pid in _left(began):
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        end = time.monotonic() + patience
        while _left(began) and time.monotonic() < end:
            time.sleep(0.02)


def _left(began: dict[int, int]) -> list[int]:
    """Which of these still run; our own children are collected."""
    for pid in began:
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
    return [pid for pid, started in began.items() if start_time(pid) == started]
