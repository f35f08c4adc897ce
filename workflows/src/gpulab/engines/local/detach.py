"""The supervisor as a process of its own: started without anything of the caller's, found again, signalled."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from gpulab.engines.local import record
from gpulab.errors import PlatformError
from gpulab.system import SYSTEM

_POLL_SECONDS = 0.1


def start(folder: Path, lock: int) -> None:
    """Start the supervisor of a run in its own session; it keeps nothing of ours but the lock that says it lives.

    Args:
        lock: a descriptor that holds the run's lock; it is closed here.

    Raises:
        PlatformError: the process cannot be started.
    """
    try:
        with (folder / "supervisor.log").open("ab") as log:
            process = SYSTEM.start_detached(
                [sys.executable, "-P", "-m", "gpulab.engines.local.supervisor", str(folder.resolve())],
                folder,
                lock,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={key: value for key, value in os.environ.items() if not key.startswith("GIT_")},
            )
    except OSError as error:
        raise PlatformError(f"{folder}: the run cannot be started ({error.strerror or error})") from error
    finally:
        let_go(lock)
    threading.Thread(target=process.wait, daemon=True).start()


def let_go(lock: int) -> None:
    """Close our side of a run's lock."""
    if lock >= 0:
        os.close(lock)


def stop(folder: Path, patience: float) -> None:
    """Ask the supervisor to stop its run, and end it by force when it does not within `patience` seconds.

    Raises:
        PlatformError: it belongs to somebody else.
    """
    supervisor = _find(folder)
    ways: tuple[Callable[[int], None], ...] = (lambda pid: SYSTEM.ask_to_stop(pid, folder), SYSTEM.kill)
    for end in ways:
        if supervisor:
            _send(supervisor, end)
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


def _send(pid: int, end: Callable[[int], None]) -> None:
    try:
        end(pid)
    except ProcessLookupError:
        return
    except PermissionError as error:
        raise PlatformError(f"the run belongs to another user (process {pid})") from error
