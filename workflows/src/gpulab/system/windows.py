"""Windows: byte-range locks, process groups of a console, job objects (in `windows_reaper`).

Never run by its authors, who had no Windows: `.github/workflows/ci.yml` runs the demo and the quick tests there.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gpulab.system.patience import ask, listen, retried

LOCKED_BYTE = 0x7FFF0000
"""Locks are mandatory: the locked byte lies far behind the text, which others read meanwhile."""

if sys.platform == "win32":
    import msvcrt

    inherits_locks = False
    """`LockFile`: "the child process is not granted access to the locked region"."""

    has_shell = False
    path = os.environ.get("PATH", "")
    reaper = [sys.executable, "-I", "-m", "gpulab.system.windows_reaper"]

    def lock(descriptor: int, *, wait: bool, shared: bool = False) -> bool:
        """See `System.lock`; always exclusive."""
        while True:
            os.lseek(descriptor, LOCKED_BYTE, os.SEEK_SET)
            try:
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            except OSError:
                if not wait:
                    return False
                time.sleep(0.02)
            else:
                os.lseek(descriptor, 0, os.SEEK_SET)
                return True

    def replace(source: Path, target: Path) -> None:
        """See `System.replace`."""
        retried(lambda: source.replace(target))

    def own_group() -> dict[str, Any]:
        """See `System.own_group`; a console that nobody sees, so that no window opens."""
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}

    def end_group(process: "subprocess.Popen[bytes]", grace: float) -> None:
        """See `System.end_group`; it has a console of its own, so there is no signal to send: it ends by force."""
        with contextlib.suppress(OSError):
            subprocess.run(["taskkill", "/T", "/F", "/PID", str(process.pid)], capture_output=True, check=False)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=grace)

    def start_detached(command: Sequence[str], folder: Path, lock: int, **options: Any) -> "subprocess.Popen[Any]":
        """See `System.start_detached`."""
        return subprocess.Popen([*command, str(lock)], cwd=folder, **own_group(), **options)

    def hold(argument: str, lock_file: Path) -> int:
        """See `System.hold`."""
        descriptor = os.open(lock_file, os.O_RDWR | os.O_CREAT)
        lock(descriptor, wait=True)
        return descriptor

    def on_stop(folder: Path, stop: Callable[[], None]) -> None:
        """See `System.on_stop`."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        listen(folder, stop)

    def ask_to_stop(pid: int, folder: Path) -> None:
        """See `System.ask_to_stop`."""
        ask(folder)

    def kill(pid: int) -> None:
        """See `System.kill`; `os.kill` calls TerminateProcess for SIGTERM."""
        try:
            os.kill(pid, signal.SIGTERM)
        except PermissionError as error:  # also for a process that is about to end
            raise ProcessLookupError from error

    def environment(home: str, scratch: str) -> dict[str, str]:
        """See `System.environment`; UTF-8 everywhere, as on the other systems."""
        names = ("SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "WINDIR", "NUMBER_OF_PROCESSORS")
        needed = {name: os.environ[name] for name in names if name in os.environ}
        places = {"HOME": home, "USERPROFILE": home, "TMPDIR": scratch, "TEMP": scratch, "TMP": scratch}
        return needed | places | {"PYTHONUTF8": "1"}
