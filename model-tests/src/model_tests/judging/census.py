"""The census gate: does every GEMM, weight and buffer have the dtype that the candidate says?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from model_tests.judging.gates import ROOT, gate
from model_tests.precision.capture import Call, Key
from model_tests.precision.policy import most_exempt
from model_tests.verdict import Gate, Verdict

SHOWN_NAMES = 5
KINDS = ("gemm", "parameter", "buffer", "cast")


def census_gate(name: str, census: Mapping[str, Any] | None, error: str, calls: Mapping[Key, Call]) -> Gate:
    """FAIL when there is an offender, naming the first; INCONCLUSIVE when nothing could be counted.

    `calls` are those of the float32 run: they know the shape of the module that is named.
    """
    if census is None:
        return gate(f"census/{name}", Verdict.INCONCLUSIVE, "census.not-measured", {"detail": error or "no census"})
    offenders = [offender for offender in census["offenders"] if offender["what"] in KINDS]
    common: dict[str, Any] = {"value": float(len(offenders)), "bound": 0.0, "unit": "not as declared"}
    params: dict[str, Any] = {"expected": census["expected"], "gemm": sum(census["gemm"].values())}
    if not offenders:
        return _exempt(name, census) or gate(f"census/{name}", Verdict.PASS, "census.passed", params, **common)
    first = offenders[0]
    if first["what"] in ("parameter", "buffer") and name.endswith("-autocast"):
        params["expected"] = "float32"
    names = [offender["name"] or ROOT for offender in offenders]
    shown = ", ".join(names[:SHOWN_NAMES]) + (", …" if len(names) > SHOWN_NAMES else "")
    params |= {"module": names[0], "dtype": first["dtype"], "count": len(offenders), "names": shown}
    params["hint"] = "float32-island" if first["what"] == "gemm" and first["dtype"] == "float32" else ""
    fault = calls.get((first["name"], 0))
    return gate(f"census/{name}", Verdict.FAIL, f"census.{first['what']}", params, fault=fault, **common)


def _exempt(name: str, census: Mapping[str, Any]) -> Gate | None:
    """FAIL when [precision] allow_float32 leaves so little in the declared dtype that nothing is proven."""
    products, expected = sum(census["gemm"].values()), census["expected"]
    exempt = products - census["gemm"].get(expected, 0)
    most = most_exempt(products)
    if exempt <= most:
        return None
    params = {"exempt": exempt, "products": products, "expected": expected, "most": most}
    values: dict[str, Any] = {"value": float(exempt), "bound": float(most), "unit": "exempt matrix products"}
    return gate(f"census/{name}", Verdict.FAIL, "census.exempt", params, **values)
