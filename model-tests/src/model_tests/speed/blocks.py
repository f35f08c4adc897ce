"""How long a block is, and in which order the sides take turns; pure."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from model_tests.spec import Spec

BLOCK_SECONDS = 0.04
"""Long enough for several steps, short enough that a host's mood meets all sides of a round alike."""

STEP_SECONDS = 0.002
"""A step is timed through a pipe, which takes tens of microseconds: shorter forwards share a step."""

INPUT_BYTES = 256 * 2**20
"""The inputs of a block wait in memory, so that drawing them is not timed."""

FEWEST_STEPS = 3
"""Their median is not moved by one interruption; a model that takes QUICK_SECONDS a forward gets one step."""

QUICK_SECONDS = 0.25

VALUE_BYTES = {"int64": 8, "float32": 4}


@dataclass(frozen=True)
class Size:
    """A block: `steps` timed steps of `repeat` forwards each."""

    steps: int
    repeat: int


def size(forwards: Sequence[float], spec: Spec) -> Size:
    """Return the size of all sides' blocks, from one forward of each (seconds); at most [benchmark] iterations."""
    fastest, slowest = max(min(forwards, default=0.0), 1e-6), max([*forwards, 1e-6])
    repeat = math.ceil(round(STEP_SECONDS / fastest, 6))
    fewest = FEWEST_STEPS if slowest < QUICK_SECONDS else 1
    steps = min(max(round(BLOCK_SECONDS / (slowest * repeat)), fewest), spec.iterations)
    room = INPUT_BYTES // sum(math.prod(item.shape) * VALUE_BYTES[item.dtype] for item in spec.inputs)
    repeat = max(1, min(repeat, room - 1))
    return Size(max(1, min(steps, (room - 1) // repeat)), repeat)


def order(sides: Sequence[str], seed: int, number: int) -> list[str]:
    """Return the sides in the order of one round: drawn, so that no side always follows another."""
    drawn = list(sides)
    random.Random(f"{seed} {number}").shuffle(drawn)  # noqa: S311 - an order, no secret
    return drawn
