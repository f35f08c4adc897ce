"""One container's processes: started under their reaper, their output kept, all of them gone at the end."""

import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

REAPER = Path(__file__).with_name("reaper.py")
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
        reader, self._lifeline = os.pipe()
        self._guard = threading.Lock()
        try:
            self._reaper = subprocess.Popen(
                [sys.executable, "-I", "-S", str(REAPER), str(reader), str(grace), *argv],
                env=dict(env),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(reader,),
                start_new_session=True,
            )
        except OSError:
            self.stop()
            raise
        finally:
            os.close(reader)
        assert self._reaper.stdout  # noqa: S101  for the type checker: stdout=PIPE
        self._pump = threading.Thread(target=_keep, args=(self._reaper.stdout, log), daemon=True)
        self._pump.start()

    def stop(self) -> None:
        """Ask all processes to end, and make them after the grace time."""
        with self._guard:
            if self._lifeline >= 0:
                os.close(self._lifeline)
                self._lifeline = -1

    def wait(self) -> int:
        """The exit code, once no process is left."""
        code = self._reaper.wait()
        self._pump.join(timeout=5)
        self.stop()
        return code if code >= 0 else 128 - code


def _keep(stream: IO[bytes], log: Path) -> None:
    """Copy output to the log, in pieces, up to the limit; a full disk must not block the container."""
    left = LOG_LIMIT
    with stream, log.open("ab", buffering=0) as file:
        while piece := os.read(stream.fileno(), 65536):
            try:
                file.write(piece[:left])
            except OSError:
                left = 0
            if left and len(piece) >= left:
                file.write(f"\n[output cut after {LOG_LIMIT // 2**20} MiB]\n".encode())
            left = max(0, left - len(piece))
