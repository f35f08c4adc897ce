"""Which processes belong to a session or carry a mark, and the memory they hold: /proc, else `ps`."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

if sys.platform == "win32":
    raise ImportError("a job object tells this there")

PROC = Path("/proc")


def members(session: int) -> set[int]:
    """Return the living processes of a session."""
    if not _has_proc():
        return {pid for pid, group, _ in _ps() if group == session}
    return {pid for pid, fields in _stats() if fields[3] == str(session) and fields[0] != "Z"}


def marked(mark: str) -> set[int]:
    """Return the living processes whose environment at their start had `mark` (NAME=value); none without /proc."""
    found = set()
    for entry in _entries():
        with contextlib.suppress(OSError):
            if mark.encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.add(int(entry.name))
    return found


def resident(pids: Iterable[int]) -> int:
    """Return the resident bytes of these processes together; those that have ended count nothing."""
    if not _has_proc():
        wanted = set(pids)
        return sum(size for pid, _, size in _ps() if pid in wanted)
    return sum(_resident(pid) for pid in pids)


def _resident(pid: int) -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int((PROC / str(pid) / "statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _has_proc() -> bool:
    return (PROC / "self" / "stat").exists()


def _entries() -> Iterator[Path]:
    return PROC.glob("[0-9]*")


def _stats() -> Iterator[tuple[int, list[str]]]:
    """Yield (pid, [state, ppid, group, session, ...]); the name before it may hold spaces and parentheses."""
    for entry in _entries():
        with contextlib.suppress(OSError):
            text = (entry / "stat").read_text(encoding="utf-8", errors="replace")
            yield int(entry.name), text.rpartition(")")[2].split()


def _ps() -> Iterator[tuple[int, int, int]]:
    """Yield (pid, group, resident bytes)."""
    listing = subprocess.run(["ps", "-A", "-o", "pid=,pgid=,rss="], capture_output=True, text=True, check=False)
    for line in listing.stdout.splitlines():
        with contextlib.suppress(ValueError):
            pid, group, size = map(int, line.split())
            yield pid, group, size * 1024
