"""Which module is at fault: the first, in order of execution, whose output departs where its input did not."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from model_tests.precision.capture import Call, Key, Sample
from model_tests.precision.errors import relative_l2

# Below this many values a module's own ratio is chance (numerics.md 8.4).
FEWEST_VALUES = 256
# A module may lose twice its floor (the bound of the teacher-forced module test in numerics.md 2.3).
MODULE_RATIO = 2.0
# Two errors below this relative size are both fp32's, not the candidate's.
FP32_NOISE = 16 * 2.0**-24

Side = Literal["output", "input"]
Bad = Callable[[Key, Side, Sample], bool]
Calls = Mapping[Key, Call]


def by_key(calls: Iterable[Call]) -> dict[Key, Call]:
    """Index calls, keeping the order of completion."""
    return {call.key: call for call in calls}


def first_fault(calls: Calls, bad: Bad) -> Call | None:
    """Return the call to name, or None when no output is bad.

    The first call to complete with a bad output is the deepest. When what it was given was bad already, the fault is in
    the code between the modules: the call it was made from, and so on upwards.
    """
    fault = next((c for c in calls.values() if c.output and bad(c.key, "output", c.output)), None)
    while fault is not None and fault.input and fault.parent and bad(fault.key, "input", fault.input):
        if fault.parent not in calls:
            break
        fault = calls[fault.parent]
    return fault


def ratio(found: Sample | None, truth: Sample | None, floor: Sample | None, noise: float = FP32_NOISE) -> float | None:
    """Error of a sample over its floor's error, both at least `noise`; None when they cannot be compared."""
    if found is None or truth is None or floor is None:
        return None
    if not (
        found.shape == truth.shape == floor.shape and found.values.shape == truth.values.shape == floor.values.shape
    ):
        return None
    error, least = relative_l2(found.values, truth.values), relative_l2(floor.values, truth.values)
    if math.isnan(error) or not math.isfinite(least):
        return None
    return max(error, noise) / max(least, noise)


def at(calls: Calls, key: Key, side: Side) -> Sample | None:
    """Return what a run gave to, or took from, a call; None when it did not make that call."""
    call = calls.get(key)
    if call is None:
        return None
    return call.output if side == "output" else call.input


def ratio_fault(
    real: Calls,
    floor: Calls,
    truth: Calls,
    bound: float = MODULE_RATIO,
    noise: float = FP32_NOISE,
    fewest: int = FEWEST_VALUES,
) -> Call | None:
    """Name the module that departs from the truth by more than `bound` x its floor, among those with enough values."""

    def bad(key: Key, side: Side, found: Sample) -> bool:
        value = ratio(found, at(truth, key, side), at(floor, key, side), noise)
        return value is not None and value > bound and found.values.numel() >= fewest

    return first_fault(real, bad)


def signal_fault(real: Calls, truth: Calls, bound: float) -> Call | None:
    """Name the module whose answer is another one: relative L2 over `bound`."""

    def bad(key: Key, side: Side, found: Sample) -> bool:
        exact = at(truth, key, side)
        if exact is None or exact.shape != found.shape or exact.values.shape != found.values.shape:
            return False
        return relative_l2(found.values, exact.values) > bound

    return first_fault(real, bad)


def nonfinite_fault(calls: Calls, baseline: Calls) -> Call | None:
    """Name the deepest module that makes the first NaN or +inf that `baseline` (float32, or nothing) does not have.

    -inf is left out: masks hold it on purpose.
    """

    def bad(key: Key, side: Side, found: Sample) -> bool:
        clean = at(baseline, key, side)
        return found.broken > (clean.broken if clean else 0)

    return first_fault(calls, bad)


def never_called(calls: Calls, truth: Calls) -> list[str]:
    """Return the outermost modules that the truth runs and this run does not."""
    ran = {name for name, _ in calls}
    missing = {name for name, _ in truth} - ran
    return sorted(name for name in missing if name.rpartition(".")[0] not in missing)
