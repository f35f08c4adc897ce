"""When is a model warm? When its times no longer fall. And how large is a product that shows the peak? Pure."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

LEAST = 10
"""Iterations at least: a cold first call took 1.2 times as long on a CPU, and takes far longer on a GPU."""

MOST = 200
FALLING = 0.9
"""A second half this much faster than the first is still warming up."""

LONG_PRODUCT = 0.02
"""Seconds: half precision is emulated on most CPUs, where the next size would take more than a second."""


def fastest(sizes: Sequence[int], seconds: Callable[[int], float]) -> int:
    """Return the size of a square matrix product with the highest rate; no larger one once it takes LONG_PRODUCT.

    A small product does not fill a CPU's wide units (AMX in bfloat16: 121 GFLOP/s at 128, 885 at 512).
    """
    best, highest = sizes[0], 0.0
    for size in sizes:
        took = max(seconds(size), 1e-9)
        if size**3 / took > highest:
            best, highest = size, size**3 / took
        if took > LONG_PRODUCT:
            break
    return best


def warm(times: Sequence[float]) -> bool:
    """Say whether the iterations so far, in seconds and in order, have settled; noise alone does not hold it up."""
    if len(times) < LEAST:
        return False
    recent = times[len(times) // 2 :]
    half = len(recent) // 2
    return len(times) >= MOST or statistics.median(recent[half:]) >= FALLING * statistics.median(recent[:half])
