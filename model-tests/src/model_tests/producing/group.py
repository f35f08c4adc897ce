"""The command with all that it starts: found, measured and ended together, in each system's own way."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from typing import Any

if sys.platform == "win32":
    from model_tests import windows_job

    OPTIONS: dict[str, Any] = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}

    class Group:
        """A job object: it has every process that the command starts, wherever it goes."""

        def __init__(self, process: subprocess.Popen[bytes], mark: str) -> None:
            self._job = windows_job.Job()
            self._job.add(process.pid)  # long before the command, a Python, has read its first line

        def members(self) -> set[int]:
            """Return the living processes."""
            return self._job.members()

        def resident(self, pids: set[int]) -> int:
            """Return their bytes in memory."""
            return windows_job.resident(pids)

        def kill(self) -> bool:
            """End all; True when there was none left."""
            left = self.members()
            self._job.terminate(1)
            return not left

else:
    from model_tests.producing.processes import marked, members, resident

    OPTIONS: dict[str, Any] = {"start_new_session": True}

    class Group:
        """A session, and those that left it, known by a variable in their environment."""

        def __init__(self, process: subprocess.Popen[bytes], mark: str) -> None:
            self._process, self._mark = process, mark

        def members(self) -> set[int]:
            """Return the living processes."""
            return {self._process.pid} | members(self._process.pid)

        def resident(self, pids: set[int]) -> int:
            """Return their bytes in memory."""
            return resident(pids)

        def kill(self) -> bool:
            """End all; True when there was none left."""
            if self._process.returncode is None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, signal.SIGKILL)
            strays = members(self._process.pid) | marked(self._mark)
            for pid in strays:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            return not strays
