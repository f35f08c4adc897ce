"""One container's processes: started under their reaper, their output kept, all of them gone at the end."""

import contextlib
import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from gpulab.system import SYSTEM

LOG_LIMIT = 16 * 2**20
"""Bytes of output that are kept; the rest is read and dropped (the kubelet rotates at 10 MiB)."""


class Process:
    """A started container.

    Args:
        argv: the command, its first item an existing program.
        log: where stdout and stderr go, in the order written.
        grace: seconds between SIGTERM and SIGKILL after `stop`.
    """

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], cwd: Path, log: Path, grace: float) -> None:
        self._guard = threading.Lock()
        self._reaper = subprocess.Popen(
            [*SYSTEM.reaper, str(grace), *argv],
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            **SYSTEM.own_group(),
        )
        assert self._reaper.stdin and self._reaper.stdout  # noqa: S101  for the type checker: PIPE
        self._lifeline = self._reaper.stdin
        self._pump = threading.Thread(target=_keep, args=(self._reaper.stdout, log), daemon=True)
        self._pump.start()

    def stop(self) -> None:
        """Ask all processes to end, and make them after the grace time."""
        with self._guard, contextlib.suppress(OSError):
            self._lifeline.close()

    def wait(self) -> int:
        """The exit code, once no process is left."""
        code = self._reaper.wait()
        self._pump.join(timeout=5)
        self.stop()
        return code if code >= 0 else 128 - code


def _keep(stream: IO[bytes], log: Path) -> None:
    """Copy output to the log, in pieces, up to the limit; a full disk must neither block nor break the container."""
    left = LOG_LIMIT
    with stream, _opened(log) as file:
        while piece := os.read(stream.fileno(), 65536):
            try:
                file.write(piece[:left])
                if left and len(piece) >= left:
                    file.write(f"\n[output cut after {LOG_LIMIT // 2**20} MiB]\n".encode())
            except OSError:
                left = 0
            left = max(0, left - len(piece))


def _opened(log: Path) -> IO[bytes]:
    try:
        return log.open("ab", buffering=0)
    except OSError:
        return Path(os.devnull).open("ab", buffering=0)
