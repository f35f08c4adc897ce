"""How far apart two sides are: the median of their log ratios, and how well a run knows it (hierarchical bootstrap).

Pure, and the standard library alone: it runs in the student's image, too, to know when a run may stop.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

STRETCH = 4
"""Rounds in a row that share the host's mood (a burst, a clock): iterations of one run have a lag-1 autocorrelation of
0.67, so that what is drawn again is a stretch first, and rounds in it second."""

RESAMPLES = 200
POWER = 0.9
"""The smallest detectable effect is the one that a run finds nine times in ten."""


@dataclass(frozen=True)
class Interval:
    """A ratio of times and where it may lie; `sd` is the standard deviation of the log ratio's estimate."""

    ratio: float
    low: float
    high: float
    sd: float
    tail: float

    def detectable(self, bound: float) -> float:
        """Return the smallest slowdown (0.1 = 10 %) that this run would find above `bound` nine times in ten."""
        return math.expm1(math.log1p(bound) + (_quantile(1 - self.tail) + _quantile(POWER)) * self.sd)

    def farthest(self) -> float:
        """Return how far from 1 it may lie on either side, as a ratio of at least 1."""
        return max(self.high, 1 / self.low)


def interval(ratios: Sequence[float], tail: float, seed: int = 0) -> Interval:
    """Return the interval of the typical ratio of two sides.

    Args:
        ratios: one per round, in the order of the rounds; positive. At least two.
        tail: the chance to be wrong at each end.
        seed: of the resampling; the same data give the same interval.
    """
    logs = [math.log(ratio) for ratio in ratios]
    middle = statistics.median(logs)
    sd = _sd(logs, random.Random(seed))  # noqa: S311 - statistics, no secret
    reach = _quantile(1 - tail) * sd
    return Interval(math.exp(middle), math.exp(middle - reach), math.exp(middle + reach), sd, tail)


def _sd(logs: Sequence[float], draw: random.Random) -> float:
    """The spread of the median when stretches are drawn again, and rounds within each."""
    stretches = [logs[start : start + STRETCH] for start in range(0, len(logs), STRETCH)]
    medians = []
    for _ in range(RESAMPLES):
        drawn = draw.choices(stretches, k=len(stretches))
        again = [stretch[int(draw.random() * len(stretch))] for stretch in drawn for _ in stretch]
        medians.append(statistics.median(again))
    few = len(stretches) / max(len(stretches) - 1, 1)  # what a bootstrap of few units leaves out
    return statistics.pstdev(medians) * math.sqrt(few)


def _quantile(share: float) -> float:
    return statistics.NormalDist().inv_cdf(share)
