"""Building gates: the sentences come from the messages, the place from the call at fault."""

from __future__ import annotations

import math
from typing import Any

from model_tests.messages import explain
from model_tests.precision.capture import Call, Key
from model_tests.verdict import Gate, Verdict

# The model's own forward, outside of every named module.
ROOT = "(model)"


def gate(
    name: str,
    verdict: Verdict,
    key: str,
    params: dict[str, Any] | None = None,
    *,
    value: float | None = None,
    bound: float | None = None,
    unit: str = "",
    fault: Call | None = None,
) -> Gate:
    """Return a gate whose numbers JSON can hold (not finite: null), explained in English."""
    place = {} if fault is None else {"module": place_name(fault.key), "shape": _shape(fault)}
    value, bound = finite(value), finite(bound)
    plain = {"value": value, "bound": bound, **(params or {}), **place}
    clean: dict[str, Any] = {name: finite(item) if isinstance(item, float) else item for name, item in plain.items()}
    why, change = explain(key, "en", clean)
    module: str | None = clean.get("module")
    shape = None if fault is None or fault.output is None else fault.output.shape
    return Gate(name, verdict, value, bound, unit, module, shape, key, clean, why, change)


def place_name(key: Key) -> str:
    """Return the module's name, with the number of the call from the second on; ROOT for the model itself."""
    name, number = key
    return (name or ROOT) + (f"#{number + 1}" if number else "")


def finite(value: float | None) -> float | None:
    """Return the value, None for NaN and infinity: JSON has neither."""
    return value if value is None or math.isfinite(value) else None


def _shape(fault: Call) -> list[int] | None:
    return None if fault.output is None else list(fault.output.shape)
