"""Two clocks: the wall's, and the processor time of this process with all the children it has waited for."""

import os
import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Spent:
    """Seconds; `cpu` is 0 for children on Windows, which does not add them up."""

    wall: float
    cpu: float


def spent(action: Callable[[], object]) -> Spent:
    """What one call takes; a child that a thread of ours still waits for counts too."""
    begin, before = time.perf_counter(), sum(os.times()[:4])
    action()
    wall = time.perf_counter() - begin
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join(timeout=10)
    return Spent(wall, sum(os.times()[:4]) - before)


def median(many: list[Spent]) -> Spent:
    """The median of each clock."""
    return Spent(statistics.median(one.wall for one in many), statistics.median(one.cpu for one in many))
