"""The gates of one candidate: finite, and the loss of precision against its noise floor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from model_tests.judging import hints
from model_tests.judging.files import CandidateRun, Run
from model_tests.judging.gates import finite, gate, place_name
from model_tests.judging.reference import Reference
from model_tests.precision import bounds
from model_tests.precision.blame import Calls, at, nonfinite_fault, ratio, ratio_fault, signal_fault
from model_tests.precision.candidates import Candidate
from model_tests.precision.capture import Call, Sample
from model_tests.precision.decision import Decision, decide
from model_tests.precision.errors import Errors, count_nonfinite, measure, relative_l2
from model_tests.verdict import Gate, Verdict

# Two reference floors: their larger one is the measure, so that one lucky rounding does not make it strict.
REFERENCE_FLOORS = 2
UNITS = {
    "bias": "relative",
    "signal": "relative error",
    "few-values": "values",
    "unstable": "× between floors",
    "program": "× reference's floor",
}


@dataclass(frozen=True)
class Measured:
    """A candidate that ran, and all that it is held against.

    `exact` is the fp64 output that counts as the truth (None: there is none), `modules` the fp64 modules that its own
    are compared with. `reference` is given only when float32 agrees with it.
    """

    candidate: Candidate
    run: CandidateRun
    float32: Run
    exact: Tensor | None
    modules: Calls
    reference: Reference | None
    reference_modules: Calls
    inputs: list[Tensor]
    logits: bool
    ratio_bound: float
    floor_error: str = ""


def finite_gate(m: Measured) -> Gate:
    """FAIL when an output value is NaN or infinite; a pass reports the headroom to 65504."""
    output, name = m.run.real.output, f"finite/{m.candidate.name}"
    count = count_nonfinite(output)
    common: dict[str, Any] = {"value": float(count), "bound": 0.0, "unit": "values not finite"}
    params: dict[str, Any] = {"candidate": m.candidate.name, "count": count, "values": output.numel()}
    if not count:
        return gate(name, Verdict.PASS, "finite.passed", params | headroom(m), **common)
    if count_nonfinite(m.float32.output):
        return gate(name, Verdict.FAIL, "finite.float32-too", params, **common)
    fault = nonfinite_fault(m.run.real.calls, m.float32.calls)
    wide = m.float32.calls.get(fault.key) if fault else None
    if m.candidate.dtype is torch.float16 and hints.overflowed(fault, wide):
        return gate(name, Verdict.FAIL, "finite.overflow", params | {"hint": "overflow"}, fault=fault, **common)
    return gate(name, Verdict.FAIL, "finite.nan", params | {"hint": hints.not_finite(fault)}, fault=fault, **common)


def headroom(m: Measured) -> dict[str, Any]:
    """Return the largest value seen anywhere, where, and for float16 how far from overflow."""
    calls = [c for c in m.run.real.calls.values() if c.output is not None]
    top = max(calls, key=lambda c: c.output.max_abs if c.output else 0.0, default=None)
    largest = top.output.max_abs if top and top.output else float(m.run.real.output.abs().max())
    found = {"max_abs": largest, "at": f" ({place_name(top.key)})" if top else ""}
    if m.candidate.dtype is torch.float16 and largest:
        found["headroom"] = bounds.FLOAT16_MAX / largest
    return found


def precision_gate(m: Measured) -> Gate:
    """Hold the candidate's errors against its floors'; on failure name the module."""
    name = f"precision/{m.candidate.name}"
    params: dict[str, Any] = {"candidate": m.candidate.name}
    if count_nonfinite(m.run.real.output) or count_nonfinite(m.float32.output):
        return gate(name, Verdict.NOT_APPLICABLE, "precision.not-finite", params)
    if m.exact is None or count_nonfinite(m.exact):
        return gate(name, Verdict.INCONCLUSIVE, "precision.no-truth", params)
    if not m.run.floors:
        detail = m.floor_error or "no floor was handed over"
        return gate(name, Verdict.INCONCLUSIVE, "precision.no-floor", params | {"detail": detail})
    reference_runs = _reference_floors(m)
    decision = decide(
        _errors(m, m.run.real.output, m.exact),
        [_errors(m, floor, m.exact) for floor in m.run.floors],
        [_errors(m, run.output, m.exact) for run in reference_runs],
        m.exact.numel(),
        m.candidate.unit,
        m.ratio_bound,
    )
    return _explained(m, decision, reference_runs, params | decision.numbers)


def _errors(m: Measured, output: Tensor, exact: Tensor) -> Errors:
    return measure(output, exact, m.candidate.unit, m.logits)


def _reference_floors(m: Measured) -> list[Run]:
    """Run the reference in this precision; none when it does not stay finite there itself."""
    if m.reference is None:
        return []
    runs = [m.reference.run(m.candidate, m.inputs, floor_seed=seed) for seed in range(REFERENCE_FLOORS)]
    return [] if any(count_nonfinite(run.output) for run in runs) else runs


def _explained(m: Measured, decision: Decision, reference_runs: Sequence[Run], params: dict[str, Any]) -> Gate:
    key = "precision.passed" if decision.verdict is Verdict.PASS else f"precision.{decision.measure}"
    fault = None
    if decision.verdict is Verdict.FAIL:
        fault = _fault(m, decision, reference_runs)
        params["hint"] = hints.lost(fault, "" if decision.measure == "program" else "accumulation")
    return gate(
        f"precision/{m.candidate.name}",
        decision.verdict,
        key,
        params,
        value=decision.value,
        bound=decision.bound,
        unit=UNITS.get(decision.measure, "× noise floor"),
        fault=fault,
    )


def _fault(m: Measured, decision: Decision, reference_runs: Sequence[Run]) -> Call | None:
    """Name the module: real against floor, or the floor against the reference's floor."""
    if decision.measure == "program":
        return ratio_fault(m.run.floor_calls, reference_runs[0].calls, m.reference_modules, bounds.PROGRAM_RATIO)
    if decision.measure == "signal":
        return signal_fault(m.run.real.calls, m.modules, bounds.SIGNAL)
    return ratio_fault(m.run.real.calls, m.run.floor_calls, m.modules)


def staircase(m: Measured) -> list[dict[str, Any]]:
    """Return result.json's `modules` of the candidate: error, floor and ratio of every module, in execution order."""
    rows = []
    for key, call in m.run.real.calls.items():
        if call.output is not None:
            exact, floor = at(m.modules, key, "output"), at(m.run.floor_calls, key, "output")
            row: dict[str, Any] = {"name": place_name(key), "kind": call.kind, "shape": list(call.output.shape)}
            row |= {"nu": _nu(m, call.output, exact), "floor": _nu(m, floor, exact)}
            row |= {"ratio": finite(ratio(call.output, exact, floor)), "max_abs": finite(call.output.max_abs)}
            rows.append({**row, "nonfinite": call.output.broken + call.output.minus_inf})
    return rows


def _nu(m: Measured, found: Sample | None, exact: Sample | None) -> float | None:
    if found is None or exact is None or found.shape != exact.shape or found.values.shape != exact.values.shape:
        return None
    return finite(relative_l2(found.values, exact.values) / m.candidate.unit)
