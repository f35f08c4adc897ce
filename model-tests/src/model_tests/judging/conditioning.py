"""How far float32 may be from a model's own fp64 when the model itself enlarges every rounding."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from model_tests.judging import files
from model_tests.judging.files import Run
from model_tests.judging.float32 import UNIT, Truth
from model_tests.precision import bounds
from model_tests.precision.candidates import candidate
from model_tests.precision.errors import count_nonfinite, nu


def conditioned(truth: Truth, found: Run, produced: Path, names: Iterable[str]) -> Truth:
    """Return the truth with a bound that follows the model's conditioning, where the fixed one would not do.

    Args:
        truth: the model's own fp64; with a reference there is a better bound already, and nothing changes.
        found: the float32 run.
        produced: folder of the candidates' files.
        names: candidates that ran; their floors tell what the model makes of one rounding per operation.
    """
    if (
        truth.least is not None
        or count_nonfinite(found.output)
        or nu(found.output, truth.exact.output, UNIT) <= truth.bound
    ):
        return truth
    losses = [loss for name in names for loss in _losses(truth, produced, name)]
    allowed = min(bounds.CONDITION_FACTOR * min(losses, default=0.0), bounds.LARGEST_CONDITIONED)
    return replace(truth, bound=max(truth.bound, allowed))


def _losses(truth: Truth, produced: Path, name: str) -> list[float]:
    """What each floor of a candidate loses, in roundoffs of its dtype."""
    floors = files.candidate(produced, name, tuple(truth.exact.output.shape)).floors
    found = [nu(floor, truth.exact.output, candidate(name).unit) for floor in floors]
    return [loss for loss in found if math.isfinite(loss)]
