"""Opening files that a student's code may have put there: never a pipe that blocks, a device, or a link elsewhere."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

# Windows has neither flag, and no pipes or devices in a folder either.
_NOT_ELSEWHERE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_MODE = 0o644


def open_plain(file: Path) -> BinaryIO:
    """Open a regular file for reading, without ever waiting for it; OSError for anything else."""
    return _checked(os.open(file, os.O_RDONLY | _NOT_ELSEWHERE), file, "rb")


def append_plain(file: Path, data: bytes) -> None:
    """Add bytes to a regular file, which is made if it is missing; OSError for anything else."""
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NOT_ELSEWHERE, _MODE)
    with _checked(descriptor, file, "ab") as stream:
        stream.write(data)


def read_plain(file: Path, most: int) -> bytes:
    """Return the content of a regular file of at most `most` bytes; OSError for anything else."""
    with open_plain(file) as stream:
        if os.fstat(stream.fileno()).st_size > most:
            raise OSError(errno.EFBIG, f"larger than {most} bytes", str(file))
        return stream.read(most)


def _checked(descriptor: int, file: Path, mode: str) -> BinaryIO:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", str(file))
    return os.fdopen(descriptor, mode)  # type: ignore[return-value]  # both modes are binary
