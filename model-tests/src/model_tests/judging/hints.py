"""The likely cause for a place and a symptom: a small table of what goes wrong where."""

from __future__ import annotations

from collections.abc import Sequence

from model_tests.precision.bounds import FLOAT16_MAX
from model_tests.precision.capture import Call

# Words in a module's name or kind -> what it does.
ROLES = {
    "rope": ("rope", "rotary", "position", "pos_emb"),
    "norm": ("norm", "softmax"),
    "attention": ("attention", "attn"),
}


def role(fault: Call | None) -> str:
    """Return rope, norm, attention or "" from the last part of the name and the kind of the module at fault."""
    if fault is None:
        return ""
    text = f"{fault.key[0].rpartition('.')[2]} {fault.kind}".lower()
    return next((name for name, words in ROLES.items() if any(word in text for word in words)), "")


def wrong_formula(fault: Call | None, skipped: Sequence[str]) -> str:
    """Return the hint where float32 is not the reference's."""
    if skipped:
        return "skipped"
    return role(fault)


def not_finite(fault: Call | None) -> str:
    """Return the hint for NaN or infinity that is not an overflow of float16."""
    return "masked-row" if role(fault) == "attention" else "zero-division"


def overflowed(fault: Call | None, float32: Call | None) -> bool:
    """Tell whether float16 ran out of range: inf in the output, or float32 goes beyond its largest number there."""
    if fault is None or fault.output is None:
        return False
    wide = max(side.max_abs for side in (float32.output, float32.input) if side) if float32 and float32.output else 0.0
    given = fault.input.inf if fault.input else 0
    return bool(fault.output.inf or given or wide > FLOAT16_MAX)


def lost(fault: Call | None, otherwise: str = "accumulation") -> str:
    """Return the hint for a module that loses more than it must."""
    return {"rope": "rope-half", "norm": "norm-half"}.get(role(fault), otherwise)
