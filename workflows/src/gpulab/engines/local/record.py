"""`run.json`: the one truth about a run, written whole or not at all, and repaired when its writer was killed.

The supervisor holds a lock on `supervisor.lock` for as long as it lives, so whoever finds the lock free beside an
unfinished run knows that nobody will finish it (a process id could have been given to another process by then).
"""

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpulab.engines.errors import CorruptRun, RunNotFound
from gpulab.engines.local import clock
from gpulab.engines.protocol import SCHEMA, Json, NodeStatus, Phase, RunStatus
from gpulab.errors import PlatformError
from gpulab.system import SYSTEM

FILE, LOCK = "run.json", "supervisor.lock"
KILLED = "the engine was killed"
STARTUP_SECONDS = 60
_CAMEL = {"display_name": "displayName", "template": "templateName", "boundary": "boundaryID"}
_CAMEL |= {"started_at": "startedAt", "finished_at": "finishedAt", "outbound": "outboundNodes"}
_KINDS: dict[str, type] = {"inputs": dict, "outputs": dict, "children": list, "outbound": list}


def now() -> str:
    """RFC 3339 in UTC, to the millisecond."""
    return datetime.fromtimestamp(clock.posix(), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


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
    texts = [_checked(field, data[field]) for field in ("name", "message", "startedAt", "finishedAt")]
    run = RunStatus(texts[0], Phase(data["phase"]), *texts[1:])
    for key, node in data["nodes"].items():
        given = {python.get(field, field): _checked(python.get(field, field), value) for field, value in node.items()}
        if key != given["id"]:
            raise ValueError(f"node {key} says that it is {given['id']}")
        run.nodes[key] = NodeStatus(**{"template": "", "boundary": "", **given, "phase": Phase(node["phase"])})
    return run


def _checked(field: str, value: Any) -> Any:
    """The value, if it can stand in that field of a node."""
    if not isinstance(value, _KINDS.get(field, str)):
        raise TypeError(f"{field} is {type(value).__name__}")
    if isinstance(value, list) and not all(isinstance(item, str) for item in value):
        raise TypeError(f"{field} holds what is no id")
    return value


def write_atomically(path: Path, text: str) -> None:
    """Replace a file so that a reader sees the old or the new text, even after a crash.

    Raises:
        PlatformError: the disk is full or the folder cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        SYSTEM.replace(temporary, path)
    except OSError as error:
        with suppress(OSError):  # a read-only disk says so even of a file that is not there
            temporary.unlink()
        raise PlatformError(
            f"{path}: cannot be written ({error.strerror or error}). Free space, then run again"
        ) from error


def save(folder: Path, run: RunStatus) -> None:
    """Write `run.json`."""
    write_atomically(folder / FILE, dump(run))


def dump(run: RunStatus) -> str:
    """The text of `run.json`."""
    return json.dumps(to_json(run), indent=1)


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
    """True, and its lock shared meanwhile, when no supervisor works on the run; False when that cannot be known.

    Shared and read-only: many may ask at once, also on a read-only disk and for somebody else's run.
    """
    lock = folder / LOCK
    if not lock.is_file() or not os.access(lock, os.R_OK):
        yield False
        return
    descriptor = os.open(lock, os.O_RDONLY)
    try:
        yield _started(descriptor) and SYSTEM.lock(descriptor, wait=False, shared=True)
    finally:
        os.close(descriptor)


def _started(descriptor: int) -> bool:
    """Whether the supervisor has had its chance to take the lock; where it inherits it, from the beginning."""
    found = os.fstat(descriptor)
    return SYSTEM.inherits_locks or found.st_size > 0 or time.time() - found.st_mtime > STARTUP_SECONDS


def take_lock(folder: Path) -> int:
    """Hold the run's lock: a descriptor, which the supervisor inherits and keeps until it ends.

    -1, and an empty file, where locks are not inherited (and a folder with an open file cannot be renamed).
    """
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    if not SYSTEM.inherits_locks:
        os.close(descriptor)
        return -1
    SYSTEM.lock(descriptor, wait=True)
    return descriptor


def load_truth(folder: Path) -> RunStatus:
    """Read `run.json`; when its supervisor is gone without an end, write that end first, if it can be written.

    A run that never began is shown the same way, and may still be begun by whoever submits it again.
    """
    run = load(folder)
    if run.phase.fulfilled:
        return run
    with if_abandoned(folder) as abandoned:
        run = load(folder)
        if abandoned and not run.phase.fulfilled:
            end_killed(run)
            if begun(folder):
                with suppress(PlatformError):
                    save(folder, run)
    return run


def begun(folder: Path) -> bool:
    """Whether a supervisor ever had the run: it writes its id into the lock as the first thing."""
    try:
        return (folder / LOCK).stat().st_size > 0
    except OSError:  # not a run of ours to begin
        return True


def take_over(folder: Path) -> int | None:
    """Hold the lock of a run whose submitter was killed before its supervisor began; None for every other run."""
    if not SYSTEM.inherits_locks or begun(folder):
        return None
    descriptor = os.open(folder / LOCK, os.O_RDWR)
    if SYSTEM.lock(descriptor, wait=False) and not begun(folder):
        return descriptor
    os.close(descriptor)
    return None


def end_killed(run: RunStatus, message: str = KILLED) -> None:
    """Mark what was not finished as Error, and the run too."""
    known = [moment for node in run.nodes.values() for moment in (node.started_at, node.finished_at)]
    moment = max(now(), run.started_at, *known)  # the clock may have been set back since
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
