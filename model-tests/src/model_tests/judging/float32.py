"""The float32 gates: finite, and right (against the reference) or self-consistent (against the model's own fp64)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from model_tests.judging import hints
from model_tests.judging.files import Run
from model_tests.judging.gates import finite, gate, place_name
from model_tests.judging.reference import MisfitError, Reference
from model_tests.precision import bounds
from model_tests.precision.blame import never_called, nonfinite_fault, ratio_fault
from model_tests.precision.candidates import FLOAT32, FLOAT64, UNIT_ROUNDOFF
from model_tests.precision.capture import Call
from model_tests.precision.errors import count_nonfinite, nu, relative_l2
from model_tests.verdict import Gate, Verdict

UNIT = UNIT_ROUNDOFF[FLOAT32.dtype]
NU = "ν (fp32 rounding errors)"


@dataclass(frozen=True)
class Truth:
    """What float32 is held against: fp64 `exact`, and for a reference its own fp32 run `least`."""

    mode: str
    exact: Run
    least: Run | None
    bound: float


def truth(reference: Reference | None, own: Run | None, inputs: list[Tensor]) -> Truth | None:
    """Return the reference's fp64 where there is a reference, else the model's own; None when it has none.

    The bound with a reference is RIGHT_FACTOR x what the reference loses in fp32 on this machine, at least 10; without
    one it is SELF_CONSISTENCY. See precision/bounds.py for where the numbers come from.
    """
    if reference is not None:
        exact, least = reference.run(FLOAT64, inputs), reference.run(FLOAT32, inputs)
        bound = bounds.RIGHT_FACTOR * max(nu(least.output, exact.output, UNIT), 1.0)
        return Truth("reference", exact, least, bound)
    return None if own is None else Truth("self-consistency", own, None, bounds.SELF_CONSISTENCY)


def check_shape(found: Run, against: Truth) -> None:
    """MisfitError when the model returns another shape than the reference."""
    if found.output.shape != against.exact.output.shape:
        shapes = {"found": list(found.output.shape), "expected": list(against.exact.output.shape)}
        raise MisfitError("smoke.output-shape", shapes)


def finite_gate(found: Run) -> Gate:
    """FAIL when a float32 output value is NaN or infinite, naming the module that made the first one."""
    count, values = count_nonfinite(found.output), found.output.numel()
    params: dict[str, Any] = {"count": count, "values": values}
    common: dict[str, Any] = {"value": float(count), "bound": 0.0, "unit": "values not finite"}
    if not count:
        return gate("fp32/finite", Verdict.PASS, "fp32.finite-passed", params, **common)
    fault = nonfinite_fault(found.calls, {})
    params["hint"] = hints.not_finite(fault)
    return gate("fp32/finite", Verdict.FAIL, "fp32.finite", params, fault=fault, **common)


def right_gate(found: Run, against: Truth | None, has_reference: bool, note: str) -> Gate:
    """FAIL when float32 is further from the truth than the bound. `note`: why there is no own fp64."""
    name = "fp32/right" if has_reference else "fp32/self-consistency"
    if count_nonfinite(found.output):
        return gate(name, Verdict.NOT_APPLICABLE, "fp32.right-not-finite")
    if against is None or count_nonfinite(against.exact.output):
        return gate(name, Verdict.INCONCLUSIVE, "fp32.no-truth", {"detail": note or "it is not finite"})
    key = "fp32.right" if has_reference else "fp32.self"
    value = nu(found.output, against.exact.output, UNIT)
    params: dict[str, Any] = {"nu": value}
    common: dict[str, Any] = {"value": value, "bound": against.bound, "unit": NU}
    if value <= against.bound:
        return gate(name, Verdict.PASS, f"{key}-passed", params, **common)
    fault = None
    if against.least is not None:
        fault = ratio_fault(
            found.calls, against.least.calls, against.exact.calls, bounds.RIGHT_FACTOR, noise=UNIT, fewest=1
        )
        skipped = never_called(found.calls, against.exact.calls)
        fault = _skipped(fault, skipped, against.exact) or fault
        params |= {"skipped": ", ".join(skipped[:3]), "hint": hints.wrong_formula(fault, skipped)}
    return gate(name, Verdict.FAIL, key, params, fault=fault, **common)


def _skipped(fault: Call | None, skipped: list[str], exact: Run) -> Call | None:
    """Return the reference's call that is missing right in the module at fault: it says more than its parent."""
    missing = [exact.calls[(name, 0)] for name in skipped if (name, 0) in exact.calls]
    return next((call for call in missing if fault and call.parent and call.parent[0] == fault.key[0]), None)


def staircase(found: Run, against: Truth | None) -> dict[str, Any]:
    """Return result.json's `fp32`: nu of the output and of every module that can be compared."""
    if against is None:
        return {"mode": "self-consistency", "nu": None, "bound": None, "modules": []}
    rows = []
    for key, call in found.calls.items():
        exact = against.exact.calls.get(key)
        if call.output is None:
            continue
        same = exact is not None and exact.output is not None and exact.output.shape == call.output.shape
        error = relative_l2(call.output.values, exact.output.values) / UNIT if same and exact and exact.output else None
        row = {"name": place_name(key), "kind": call.kind, "shape": list(call.output.shape)}
        rows.append({**row, "nu": finite(error)})
    value = finite(nu(found.output, against.exact.output, UNIT))
    return {"mode": against.mode, "nu": value, "bound": against.bound, "modules": rows}
