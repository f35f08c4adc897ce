"""When is a model warm? When its times no longer fall; pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

LEAST = 10
"""Iterations at least: a cold first call took 1.2 times as long on a CPU, and takes far longer on a GPU."""

MOST = 200
FALLING = 0.9
"""A second half this much faster than the first is still warming up."""


def warm(times: Sequence[float]) -> bool:
    """Say whether the iterations so far, in seconds and in order, have settled; noise alone does not hold it up."""
    if len(times) < LEAST:
        return False
    recent = times[len(times) // 2 :]
    half = len(recent) // 2
    return len(times) >= MOST or statistics.median(recent[half:]) >= FALLING * statistics.median(recent[:half])
