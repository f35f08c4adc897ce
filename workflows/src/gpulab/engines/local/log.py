"""The supervisor's own output: lines for whoever looks for a fault, never a reason for one."""

import contextlib
import io
import os
import sys


class Log(io.TextIOBase):
    """Writes to a descriptor, and lets a full disk pass: `print` and `traceback` must not end a run."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, text: str) -> int:
        """Write what can be written."""
        with contextlib.suppress(OSError):
            os.write(self._descriptor, text.encode(errors="backslashreplace"))
        return len(text)


def take_over() -> None:
    """Let standard output and standard error of this process go there."""
    sys.stdout, sys.stderr = Log(1), Log(2)
