"""From the errors of a candidate and of its floors to a verdict. Pure: numbers in, decision out."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from model_tests.precision import bounds
from model_tests.precision.blame import FP32_NOISE
from model_tests.precision.errors import Errors
from model_tests.verdict import Verdict


@dataclass(frozen=True)
class Decision:
    """`measure` names what decided: ratio, row-max, kl, bias, signal, program, or why there is no verdict.

    `value` and `bound` are of that measure; `numbers` holds all of them, for the report.
    """

    verdict: Verdict
    measure: str
    value: float | None = None
    bound: float | None = None
    numbers: dict[str, float] = field(default_factory=dict)


def decide(
    real: Errors,
    floors: Sequence[Errors],
    reference_floors: Sequence[Errors],
    values: int,
    unit: float,
    ratio_bound: float,
) -> Decision:
    """Judge one candidate whose output and truth are finite.

    `reference_floors` is empty without a reference. `values`: how many the output has. `unit`: roundoff of the dtype.
    """
    if values < bounds.FEWEST_VALUES:
        return Decision(Verdict.INCONCLUSIVE, "few-values", float(values), float(bounds.FEWEST_VALUES))
    if not all(math.isfinite(floor.nu) for floor in floors):
        return Decision(Verdict.INCONCLUSIVE, "floor-not-finite")
    least = FP32_NOISE / unit
    nus = [max(floor.nu, least) for floor in floors]
    spread, floor_nu = max(nus) / min(nus), statistics.median(nus)
    numbers = {"nu": real.nu, "floor_nu": floor_nu, "floor_spread": spread}
    if spread > bounds.FLOOR_SPREAD:
        return Decision(Verdict.INCONCLUSIVE, "unstable", spread, bounds.FLOOR_SPREAD, numbers)
    measures = _measures(real, floors, least, floor_nu, unit, ratio_bound)
    measures["signal"] = (real.nu * unit, bounds.SIGNAL)
    if reference_floors:
        measures["program"] = _program(floor_nu, reference_floors, least)
    numbers |= {_number_name(name): value for name, (value, _) in measures.items()}
    return _worst(measures, numbers, below_noise=max(floor.nu for floor in floors) <= least)


def _measures(
    real: Errors, floors: Sequence[Errors], least: float, floor_nu: float, unit: float, ratio_bound: float
) -> dict[str, tuple[float, float]]:
    """Return (value, bound) of each measure of real against floor."""
    measures = {"ratio": (max(real.nu, least) / floor_nu, ratio_bound)}
    rows = [floor.row_max for floor in floors if floor.row_max is not None]
    if real.row_max is not None and rows:
        measures["row-max"] = (max(real.row_max, least) / max(*rows, least), bounds.ROW_RATIO)
    kls = [floor.kl for floor in floors if floor.kl is not None]
    if real.kl is not None and kls:
        measures["kl"] = (real.kl / max(kls), bounds.KL_RATIO)
    biases = [floor.bias for floor in floors]
    deviation = statistics.stdev(biases) if len(biases) > 1 else 0.0
    measures["bias"] = (abs(real.bias - statistics.mean(biases)), max(unit / 2, bounds.BIAS_DEVIATIONS * deviation))
    return measures


def _program(floor_nu: float, reference_floors: Sequence[Errors], least: float) -> tuple[float, float]:
    """Hold the candidate's floor against the largest of the reference's."""
    return floor_nu / max(*(floor.nu for floor in reference_floors), least), bounds.PROGRAM_RATIO


def _worst(measures: dict[str, tuple[float, float]], numbers: dict[str, float], below_noise: bool) -> Decision:
    """Return the measure that is furthest over its bound; `ratio` when none is."""
    name = max(measures, key=lambda measure: _excess(*measures[measure]))
    value, bound = measures[name]
    if _excess(value, bound) <= 1.0:
        return Decision(Verdict.PASS, "ratio", *measures["ratio"], numbers)
    if below_noise:
        return Decision(Verdict.INCONCLUSIVE, "below-noise", value, bound, numbers)
    return Decision(Verdict.FAIL, name, value, bound, numbers)


def _excess(value: float, bound: float) -> float:
    return math.inf if math.isnan(value) else value / bound


def _number_name(measure: str) -> str:
    names = {"ratio": "ratio", "row-max": "row_max_ratio", "kl": "kl_ratio", "bias": "gain_bias"}
    return names.get(measure, "relative_error" if measure == "signal" else "floor_over_reference")
