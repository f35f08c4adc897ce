"""A plain timing of a callable: median and 90th percentile of repeated calls."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

WARM_UP = 2
# One timing may not take longer than this, whatever the number of iterations asked for.
BUDGET_SECONDS = 0.5


def timing(call: Callable[[], Any], iterations: int, device: torch.device) -> dict[str, float | int]:
    """Call up to `iterations` times, within BUDGET_SECONDS; milliseconds, after WARM_UP calls, GPU work waited for."""
    started = time.perf_counter()
    for _ in range(WARM_UP):
        _timed(call, device)
    samples = [_timed(call, device)]
    while len(samples) < iterations and time.perf_counter() - started < BUDGET_SECONDS:
        samples.append(_timed(call, device))
    samples.sort()
    p90 = samples[min(len(samples) - 1, int(0.9 * len(samples)))]
    return {"median_ms": round(statistics.median(samples), 4), "p90_ms": round(p90, 4), "iterations": len(samples)}


def _timed(call: Callable[[], Any], device: torch.device) -> float:
    started = time.perf_counter()
    call()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return (time.perf_counter() - started) * 1e3
