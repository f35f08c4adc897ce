"""What Windows needs and any system can do: another try, and a file that asks a process to stop."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

TRIES, PAUSE = 100, 0.02
"""A reader has a small file open for milliseconds; after two seconds it is no reader."""

STOP_FILE = "stop"
POLL_SECONDS = 0.2


def retried(action: Callable[[], object]) -> None:
    """Do it, again and again while a reader is in the way.

    Raises:
        PermissionError: it still is, after two seconds.
    """
    for _ in range(TRIES - 1):
        try:
            action()
            return
        except PermissionError:
            time.sleep(PAUSE)
    action()


def ask(folder: Path) -> None:
    """Ask the process that listens in this folder to stop."""
    (folder / STOP_FILE).touch()


def listen(folder: Path, stop: Callable[[], None]) -> threading.Thread:
    """Call `stop` once when somebody asks, from a thread that ends with the process."""

    def wait() -> None:
        while not (folder / STOP_FILE).exists():
            time.sleep(POLL_SECONDS)
        stop()

    thread = threading.Thread(target=wait, daemon=True, name="stop")
    thread.start()
    return thread
