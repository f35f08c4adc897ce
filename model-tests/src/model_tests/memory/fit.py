"""Does it fit, and what is the largest batch that does?"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from model_tests.memory.estimate import Estimate, estimate, overhead

LARGEST_BATCH = 2**20


class Answer(StrEnum):
    """What limits: nothing, the batch that was asked for, or the weights whatever the batch."""

    FITS = "fits"
    BATCH_TOO_LARGE = "batch-too-large"
    WEIGHTS_TOO_LARGE = "weights-too-large"


@dataclass(frozen=True)
class Fit:
    """The answer for one device; `largest_batch` is 0 when not even one row fits and at most LARGEST_BATCH."""

    answer: Answer
    needed: Estimate
    largest_batch: int


def fit(
    family: str, config: Mapping[str, Any], inputs: Sequence[Mapping[str, Any]], dtype: str, available: int
) -> Fit | None:
    """Compare the estimate with `available` bytes; None when the family is unknown, MemoryInputError as estimate()."""
    needed = estimate(family, config, inputs, dtype)
    if needed is None:
        return None

    def total(batch: int) -> int:
        rows = [{**entry, "shape": [batch, *entry["shape"][1:]]} for entry in inputs]
        found = estimate(family, config, rows, dtype)
        return found.total if found else 0

    largest = bisect_right(range(1, LARGEST_BATCH + 1), available, key=total)
    if needed.total <= available:
        return Fit(Answer.FITS, needed, largest)
    alone = needed.weights + needed.buffers
    alone += overhead(alone)
    return Fit(Answer.WEIGHTS_TOO_LARGE if alone > available else Answer.BATCH_TOO_LARGE, needed, largest)
