"""`run.json`: the one truth about a run, written whole or not at all, and repaired when its writer was killed.

The supervisor holds a lock on `supervisor.lock` for as long as it lives, so whoever finds the lock free beside an
unfinished run knows that nobody will finish it (a process id could have been given to another process by then).
"""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path

from gpulab.engines.errors import CorruptRun, RunNotFound
from gpulab.engines.protocol import SCHEMA, Json, NodeStatus, Phase, RunStatus
from gpulab.errors import PlatformError

FILE, LOCK = "run.json", "supervisor.lock"
KILLED = "the engine was killed"
_CAMEL = {"display_name": "displayName", "template": "templateName", "boundary": "boundaryID"}
_CAMEL |= {"started_at": "startedAt", "finished_at": "finishedAt", "outbound": "outboundNodes"}


def now() -> str:
    """RFC 3339 in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds(moment: str) -> float:
    """The POSIX time of what `now` gave."""
    return datetime.fromisoformat(moment).timestamp()


def node_id(run: str, name: str) -> str:
    """Argo's id of a node: the run's name and the 32-bit FNV-1a hash of the node's name (`Workflow.NodeID`)."""
    if name == run:
        return run
    digest = 2166136261
    for byte in name.encode():
        digest = ((digest ^ byte) * 16777619) % 2**32
    return f"{run}-{digest}"


def to_json(run: RunStatus) -> Json:
    """The run in the shape of Argo's status, empty fields left out of the nodes."""
    nodes = {}
    for node in run.nodes.values():
        pairs = ((_CAMEL.get(f.name, f.name), getattr(node, f.name)) for f in fields(node))
        nodes[node.id] = {key: value for key, value in pairs if value}
    whole = {"schema": SCHEMA, "name": run.name, "phase": run.phase, "message": run.message}
    return {**whole, "startedAt": run.started_at, "finishedAt": run.finished_at, "nodes": nodes}


def from_json(data: Json) -> RunStatus:
    """The reverse of `to_json`; ValueError, KeyError or TypeError when it is something else."""
    if data["schema"] != SCHEMA:
        raise ValueError(f"schema is not {SCHEMA}")
    python = {camel: snake for snake, camel in _CAMEL.items()}
    run = RunStatus(data["name"], Phase(data["phase"]), data["message"], data["startedAt"], data["finishedAt"])
    for key, node in data["nodes"].items():
        given = {python.get(field, field): value for field, value in node.items()}
        run.nodes[key] = NodeStatus(**{"template": "", "boundary": "", **given, "phase": Phase(node["phase"])})
    return run


def write_atomically(path: Path, text: str) -> None:
    """Replace a file so that a reader sees the old or the new text, even after a crash.

    Raises:
        PlatformError: the disk is full or the folder cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise PlatformError(
            f"{path}: cannot be written ({error.strerror or error}). Free space, then run again"
        ) from error


def save(folder: Path, run: RunStatus) -> None:
    """Write `run.json`."""
    write_atomically(folder / FILE, json.dumps(to_json(run), indent=1))


def load(folder: Path) -> RunStatus:
    """Read `run.json` as it is.

    Raises:
        RunNotFound: there is no such run.
        CorruptRun: the file is damaged; the text says what to do.
    """
    path = folder / FILE
    if not folder.is_dir():
        raise RunNotFound(f"there is no run {folder.name} in {folder.parent}")
    try:
        return from_json(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise CorruptRun(f"{path}: cannot be read ({reason}). Run the commit again: gpulab run") from error


@contextmanager
def if_abandoned(folder: Path) -> Iterator[bool]:
    """True, and the lock held meanwhile, when no supervisor works on the run; False when that cannot be known."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDWR)
    except OSError:  # somebody else's run, or a read-only disk
        yield False
        return
    try:
        yield _locked(descriptor)
    finally:
        os.close(descriptor)


def take_lock(folder: Path) -> int:
    """Hold the run's lock: a descriptor, which the supervisor inherits and keeps until it ends."""
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def load_truth(folder: Path) -> RunStatus:
    """Read `run.json`; when its supervisor is gone without an end, write that end first."""
    run = load(folder)
    if run.phase.fulfilled:
        return run
    with if_abandoned(folder) as abandoned:
        run = load(folder)
        if abandoned and not run.phase.fulfilled:
            end_killed(run)
            save(folder, run)
    return run


def end_killed(run: RunStatus, message: str = KILLED) -> None:
    """Mark what was not finished as Error, and the run too."""
    moment = now()
    for node in run.nodes.values():
        if not node.phase.fulfilled:
            node.phase, node.message, node.finished_at = Phase.ERROR, message, moment
    run.phase, run.message, run.finished_at = Phase.ERROR, message, moment


def wait_for_end(folder: Path, timeout: float) -> bool:
    """True as soon as no supervisor works on the run, False when one still does after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        with if_abandoned(folder) as abandoned:
            if abandoned:
                return True
        time.sleep(0.05)
    return False
