"""How a step ends: with an exit code and a sentence, never with a traceback as its message."""

import contextlib
import functools
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from gpulab.errors import GpulabError, PlatformError, leave_message

Step = TypeVar("Step", bound=Callable[..., Any])


def truthful(step: Step) -> Step:
    """Turn an error into the node's message and the exit code of its kind.

    Anything unforeseen is the platform's trouble (exit code 3, retried), never the student's.
    """

    @functools.wraps(step)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            with stopping_cleanly():
                return step(*args, **kwargs)
        except GpulabError as error:
            raise SystemExit(say(str(error), error.exit_code)) from None
        except Exception as error:
            traceback.print_exc()
            raise SystemExit(say(f"internal error: {error}", PlatformError.exit_code)) from None

    return run  # type: ignore[return-value]  # functools.wraps keeps the signature that Hera reads


@contextlib.contextmanager
def stopping_cleanly() -> Iterator[None]:
    """Let SIGTERM, which ends a step whose run is stopped, unwind it: what it started elsewhere is removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)


def say(message: str, exit_code: int) -> int:
    """Leave the node's message, print it, and give the exit code back."""
    leave_message(os.environ.get("GPULAB_MESSAGE_FILE"), message)
    print(message, file=sys.stderr)
    return exit_code
