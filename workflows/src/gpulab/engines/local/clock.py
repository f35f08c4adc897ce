"""The time of this process: the wall clock's when it started, and from then on as it really passed.

Somebody may set the wall clock while a run goes on. Its times must stay in order, and a retry that is due in ten
seconds must not wait for a year.
"""

import sys
import time


def _passed() -> float:
    """Seconds that only go forward; on Linux also while the machine sleeps."""
    if sys.platform == "linux":
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


_start = time.time() - _passed()


def posix() -> float:
    """Seconds since 1970, as the wall clock said at the start of this process and what has passed since."""
    return _start + _passed()


def not_before(moment: float) -> None:
    """Go on from a moment that another process has written down, if that lies ahead."""
    global _start
    _start += max(0.0, moment - posix())
