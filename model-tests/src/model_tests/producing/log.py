"""Keep what a command prints, whatever it prints: the head as it comes, and the tail."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from pathlib import Path
from typing import IO

from model_tests.producing.plain_files import append_plain, open_plain

HEAD = 256 * 1024
TAIL = 256 * 1024
CHUNK = 64 * 1024


def capture(stream: IO[bytes] | None, log: Path) -> None:
    """Copy a stream to `log` until its end: at most HEAD + TAIL bytes (and a chunk each), saying what was left out.

    The stream is read to its end even when the log cannot be written: the command must not hang on a full pipe.
    """
    tail: deque[bytes] = deque()
    written = kept = dropped = 0
    while stream and (chunk := os.read(stream.fileno(), CHUNK)):
        if written < HEAD:
            append(log, chunk)
            written += len(chunk)
            continue
        tail.append(chunk)
        kept += len(chunk)
        while kept - len(tail[0]) >= TAIL:
            kept -= len(tail[0])
            dropped += len(tail.popleft())
    if dropped:
        append(log, f"\n[{dropped} bytes left out]\n".encode())
    append(log, b"".join(tail))


def append(log: Path, data: bytes) -> None:
    """Add bytes to the log; a log that cannot be written is no reason to fail."""
    with contextlib.suppress(OSError):
        append_plain(log, data)


def last_line(log: Path) -> str:
    """Return the last line that says something, "" when there is none."""
    with contextlib.suppress(OSError), open_plain(log) as file:
        file.seek(max(os.fstat(file.fileno()).st_size - 4096, 0))
        lines = file.read().decode(errors="replace").splitlines()
        return next((line.strip() for line in reversed(lines) if line.strip()), "")
    return ""
