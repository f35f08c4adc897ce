"""Gates of the steps themselves: contract, image, tests, and results that are missing."""

from collections.abc import Mapping
from typing import Any

from model_tests.messages import explain
from model_tests.verdict import Gate, Verdict


def gate(name: str, verdict: Verdict, key: str, detail: str, count: int | None = None, unit: str = "") -> Gate:
    """A gate whose sentences come from the message catalogue.

    Args:
        detail: what the sentences are about, in the words of whoever found it.
        count: how many things are wrong; the bound is 0. None: nothing to count.
    """
    params = {"detail": detail}
    why, change = explain(key, "en", params)
    value, bound = (None, None) if count is None else (float(count), 0.0)
    return Gate(name, verdict, value, bound, unit, key=key, params=params, why=why, change=change)


def read_gates(document: Mapping[str, Any]) -> list[Gate] | None:
    """The gates of a record or a result; None when they are not what a step writes."""
    try:
        gates = [Gate.from_dict(one) for one in document.get("gates", [])]
    except (TypeError, ValueError, KeyError, AttributeError):
        return None
    return gates if all(map(_plain, gates)) else None


def _plain(one: Gate) -> bool:
    texts = (one.name, one.unit, one.key, one.why, one.change, one.module or "")
    numbers = (0.0 if number is None else number for number in (one.value, one.bound))
    return (
        bool(one.name)
        and all(isinstance(text, str) for text in texts)
        and all(isinstance(number, int | float) for number in numbers)
        and isinstance(one.params, dict)
    )
