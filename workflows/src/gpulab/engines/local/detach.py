"""The supervisor as a process of its own: started without anything of the caller's, found again, signalled."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from gpulab.engines.local import record
from gpulab.errors import PlatformError

_POLL_SECONDS = 0.1


def start(folder: Path, lock: int) -> None:
    """Start the supervisor of a run in its own session; it keeps nothing of ours but the lock that says it lives.

    Args:
        lock: a descriptor that holds the run's lock; it is closed here.

    Raises:
        PlatformError: the process cannot be started.
    """
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # until the supervisor can handle it
    try:
        with (folder / "supervisor.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "gpulab.engines.local.supervisor", str(folder.resolve()), str(lock)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={key: value for key, value in os.environ.items() if not key.startswith("GIT_")},
                cwd=folder,
                pass_fds=(lock,),
                start_new_session=True,
            )
    except OSError as error:
        raise PlatformError(f"{folder}: the run cannot be started ({error.strerror or error})") from error
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.close(lock)
    threading.Thread(target=process.wait, daemon=True).start()


def stop(folder: Path, patience: float) -> None:
    """Ask the supervisor to stop its run, and end it by force when it does not within `patience` seconds.

    Raises:
        PlatformError: it belongs to somebody else.
    """
    supervisor = _find(folder)
    for number in (signal.SIGTERM, signal.SIGKILL):
        if supervisor:
            _send(supervisor, number)
        if record.wait_for_end(folder, patience):
            return


def _find(folder: Path) -> int | None:
    """The supervisor writes its id as the first thing; None when it does not come up."""
    for _ in range(50):
        text = (folder / record.LOCK).read_text(encoding="utf-8").strip()
        if text.isdigit():
            return int(text)
        time.sleep(_POLL_SECONDS)
    return None


def _send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
    except PermissionError as error:
        raise PlatformError(f"the run belongs to another user (process {pid})") from error
