"""Is the candidate slower than a baseline by more than is allowed? From blocks to an answer; pure, no torch.

Looking several times and stopping at a decision would raise false alarms: every look, and every baseline, has its
share of ALPHA (Bonferroni). The plan of looks is fixed before the first block.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from model_tests.speed.intervals import Interval, interval

CANDIDATE, AGAIN = "candidate", "again"
MAX_SLOWDOWN = 0.05
"""The platform's bound (design.md, Benchmark); a project can only tighten it."""

ALPHA = 0.01
LOOKS = (12, 18, 27, 40, 60, 90, 135, 200)
"""Rounds after which a run may stop."""

LEAST_ROUNDS = 12
"""Three stretches (intervals.STRETCH): two say too little of how much stretches differ."""

HOPELESS = 1.5
"""How much wider than needed the interval would still be at the end for a run to give up early. Giving up raises no
alarm; the factor leaves room for a width that is itself an estimate."""

Answer = Literal["passed", "regression", "undecided", "restless", "unconfirmed"]


@dataclass(frozen=True)
class Comparison:
    """The candidate against one baseline; `ratio` above 1: the candidate is slower. `a_a`: against itself."""

    answer: Answer
    ratio: Interval
    a_a: Interval

    @property
    def decided(self) -> bool:
        """Whether more rounds are of no use."""
        return self.answer in ("passed", "regression")

    def hopeless(self, bound: float, rounds: int, most: int) -> bool:
        """Say whether `most` rounds in all would not decide it either: an interval narrows with the square root.

        The room is what an unchanged candidate has, or more when the estimate is farther off: it may be off by luck.
        """
        at_the_end = math.log(self.ratio.high / self.ratio.ratio) * math.sqrt(rounds / most)
        room = max(math.log1p(bound), abs(math.log1p(bound) - math.log(self.ratio.ratio)))
        return self.answer == "undecided" and at_the_end > HOPELESS * room


def bound_of(asked: float | None) -> float:
    """Return the allowed slowdown: the platform's, or the project's when that is tighter."""
    return MAX_SLOWDOWN if asked is None else min(MAX_SLOWDOWN, asked)


def compare(blocks: Mapping[str, Sequence[float]], baseline: str, bound: float, baselines: int = 1) -> Comparison:
    """Compare the candidate with a baseline.

    Args:
        blocks: one time per round and side, the same rounds for all: `candidate`, `again` and the baselines.
        baseline: the side to compare with.
        bound: the allowed slowdown, 0.05 for 5 %.
        baselines: how many are compared in this run.

    Raises:
        ValueError: there are fewer than LEAST_ROUNDS rounds.
    """
    first, second, other = blocks[CANDIDATE], blocks[AGAIN], blocks[baseline]
    if min(len(first), len(second), len(other)) < LEAST_ROUNDS:
        raise ValueError(f"{len(other)} rounds; at least {LEAST_ROUNDS} are needed")
    tail = ALPHA / (len(LOOKS) * baselines)
    both = zip(first, second, other, strict=True)
    ratio = interval([math.sqrt(a * b) / c for a, b, c in both], tail, seed=1)
    a_a = interval([b / a for a, b in zip(first, second, strict=True)], tail, seed=2)
    return Comparison(_answer(ratio, a_a, 1 + bound), ratio, a_a)


def confirmed(first: Comparison, second: Comparison | None) -> Comparison:
    """Return the first comparison; a regression that fresh processes do not show as well is `unconfirmed`."""
    if first.answer != "regression" or (second is not None and second.answer == "regression"):
        return first
    return replace(first, answer="unconfirmed")


def _answer(ratio: Interval, a_a: Interval, most: float) -> Answer:
    """Two processes of the same code differ, too: what they may differ by is no regression, and no proof of none."""
    if ratio.low > most:
        return "regression" if ratio.low > a_a.farthest() else "restless"
    if ratio.high < most:
        return "passed" if a_a.low < most and a_a.high > 1 / most else "restless"
    return "undecided"
