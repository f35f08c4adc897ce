"""Linux and macOS: flock, sessions, signals."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

if sys.platform != "win32":
    import fcntl

    inherits_locks = True
    has_shell = True
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    reaper = [sys.executable, "-I", "-S", str(Path(__file__).with_name("posix_reaper.py"))]

    def lock(descriptor: int, *, wait: bool, shared: bool = False) -> bool:
        """See `System.lock`."""
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            fcntl.flock(descriptor, kind if wait else kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def replace(source: Path, target: Path) -> None:
        """See `System.replace`."""
        source.replace(target)

    def own_group() -> dict[str, Any]:
        """See `System.own_group`."""
        return {"start_new_session": True}

    def end_group(process: "subprocess.Popen[bytes]", grace: float) -> None:
        """See `System.end_group`."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS refuses when only zombies are left
                os.killpg(process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=grace)
                break
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)

    def start_detached(command: Sequence[str], folder: Path, lock: int, **options: Any) -> "subprocess.Popen[Any]":
        """See `System.start_detached`; it starts with SIGTERM blocked, until `on_stop` can handle it."""
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        try:
            whole = [*command, str(lock)]
            return subprocess.Popen(whole, cwd=folder, pass_fds=(lock,), start_new_session=True, **options)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def hold(argument: str, lock_file: Path) -> int:
        """See `System.hold`."""
        descriptor = int(argument)
        os.set_inheritable(descriptor, False)
        return descriptor

    def on_stop(folder: Path, stop: Callable[[], None]) -> None:
        """See `System.on_stop`."""
        signal.signal(signal.SIGTERM, lambda *_: stop())
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        for ignored in (signal.SIGINT, signal.SIGHUP):
            signal.signal(ignored, signal.SIG_IGN)

    def ask_to_stop(pid: int, folder: Path) -> None:
        """See `System.ask_to_stop`."""
        os.kill(pid, signal.SIGTERM)

    def kill(pid: int) -> None:
        """See `System.kill`."""
        os.kill(pid, signal.SIGKILL)

    def environment(home: str, scratch: str) -> dict[str, str]:
        """See `System.environment`."""
        return {"HOME": home, "TMPDIR": scratch}
