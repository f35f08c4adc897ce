"""The gates of speed: is the candidate slower than a baseline by more than is allowed?

Only a regression that is proven FAILs; whatever spoils the measurement is INCONCLUSIVE, and no gate of precision is
touched by it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from model_tests.judging.gates import gate
from model_tests.judging.speed_trust import Spoilt, Trial, spoilt
from model_tests.speed.baselines import Baseline, comparable
from model_tests.speed.decision import CANDIDATE, LEAST_ROUNDS, Comparison, bound_of, compare, confirmed
from model_tests.speed.intervals import Interval
from model_tests.speed.record import Measured
from model_tests.verdict import Gate, Verdict

VERDICTS = {"passed": Verdict.PASS, "regression": Verdict.FAIL}
UNIT = "× the time"


@dataclass(frozen=True)
class Sentence:
    """A trial with the bound of its gates, and how many rounds it had."""

    trial: Trial
    bound: float
    rounds: int


def speed_gates(trial: Trial, baselines: Sequence[Baseline]) -> tuple[list[Gate], dict[str, Any] | None]:
    """Return one gate per baseline and the A/A's, and the table `speed` of result.json (None: nothing was timed)."""
    timed = comparable(baselines)
    if not timed:
        return [_not_compared(one) for one in baselines], None
    case = Sentence(trial, bound_of(trial.spec.max_slowdown), trial.measured.rounds if trial.measured else 0)
    why_not = spoilt(trial)
    compared = {} if why_not else _comparisons(case, timed)
    gates = []
    for one in baselines:
        if one.reason:
            gates.append(_not_compared(one))
        elif one.name in compared:
            gates.append(_gate(case, one, compared[one.name]))
        else:
            gates.append(_without(case, one, why_not))
    return [*gates, *_a_a(compared)], _table(case, timed, compared)


def _not_compared(one: Baseline) -> Gate:
    return gate(one.gate, Verdict.NOT_APPLICABLE, f"speed.{one.reason}", _who(one))


def _who(one: Baseline) -> dict[str, Any]:
    return {"baseline": one.name, "commit": one.commit[:12]}


def _comparisons(case: Sentence, timed: Sequence[Baseline]) -> dict[str, Comparison]:
    first, second = (_compared(one, case.bound, timed) for one in _starts(case.trial.measured))
    return {name: confirmed(found, second.get(name)) for name, found in first.items()}


def _starts(measured: Measured | None) -> tuple[Measured | None, Measured | None]:
    return measured, measured and measured.second


def _compared(measured: Measured | None, bound: float, timed: Sequence[Baseline]) -> dict[str, Comparison]:
    """Compare the candidate of one start with all baselines that went on."""
    if measured is None or measured.rounds < LEAST_ROUNDS:
        return {}
    names = [one.name for one in timed if one.name in measured.blocks]
    return {name: compare(measured.blocks, name, bound, len(timed)) for name in names}


def _gate(case: Sentence, one: Baseline, found: Comparison) -> Gate:
    params = {**_who(one), "rounds": case.rounds, "allowed": 100 * case.bound}
    params |= {"low": found.ratio.low, "high": found.ratio.high}
    params |= {"a_a_low": found.a_a.low, "a_a_high": found.a_a.high}
    params["detectable"] = 100 * found.ratio.detectable(case.bound)
    verdict = VERDICTS.get(found.answer, Verdict.INCONCLUSIVE)
    numbers: dict[str, Any] = {"value": found.ratio.ratio, "bound": 1 + case.bound, "unit": UNIT}
    return gate(one.gate, verdict, f"speed.{found.answer}", params, **numbers)


def _without(case: Sentence, one: Baseline, why_not: Spoilt | None) -> Gate:
    """Say why there is no comparison: because of this run, of this baseline, or of the time there was."""
    if why_not is not None:
        key, more = why_not
    else:
        side = case.trial.measured.sides.get(one.name) if case.trial.measured else None
        failed = side is not None and not side.ok
        key = "speed.baseline-failed" if failed else "speed.too-slow"
        more = {"detail": side.message} if side is not None and failed else {"fewest": LEAST_ROUNDS}
    params = {**_who(one), "rounds": case.rounds, "budget": case.trial.spec.budget_seconds, **more}
    return gate(one.gate, Verdict.INCONCLUSIVE, key, params)


def _a_a(compared: Mapping[str, Comparison]) -> list[Gate]:
    """Return what two copies of the same code differ by: information, never a gate."""
    if not compared:
        return []
    found = next(iter(compared.values())).a_a
    params = {"low": found.low, "high": found.high}
    return [gate("speed/a-a", Verdict.NOT_APPLICABLE, "speed.information", params, value=found.ratio, unit=UNIT)]


def _table(case: Sentence, timed: Sequence[Baseline], compared: Mapping[str, Comparison]) -> dict[str, Any]:
    """Return the numbers behind the gates; latencies in seconds, named as `vllm bench latency` does."""
    measured = case.trial.measured
    head: dict[str, Any] = {"dtype": case.trial.spec.serving_dtype, "bound": 1 + case.bound, "rounds": case.rounds}
    if measured is None:
        return {**head, "ended": "failed", "seconds": 0.0, "sides": {}, "comparisons": {}, "operations_per_second": {}}
    commits = {one.name: one.commit for one in timed}
    return {
        **head,
        "ended": measured.ended,
        "seconds": measured.seconds,
        "sides": {name: {**side.latency, "commit": commits.get(name, "")} for name, side in measured.sides.items()},
        "comparisons": {name: _row(found) for name, found in compared.items()},
        "operations_per_second": _rates(measured),
    }


def _rates(measured: Measured) -> dict[str, float]:
    """Operations per second of a plain matrix product and of the candidate, as far as they are known."""
    side = measured.sides.get(CANDIDATE)
    rates = {"gemm": measured.gemm_rate} if measured.gemm_rate else {}
    if side and side.operations and side.latency:
        rates["candidate"] = side.operations / side.latency["avg_latency"]
    return rates


def _row(found: Comparison) -> dict[str, Any]:
    return {"answer": found.answer, "ratio": _ends(found.ratio), "a_a": _ends(found.a_a)}


def _ends(one: Interval) -> dict[str, float]:
    return {"ratio": one.ratio, "low": one.low, "high": one.high}
