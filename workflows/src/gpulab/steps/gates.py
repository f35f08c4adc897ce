"""Gates of the steps themselves: contract, image, tests, and results that are missing."""

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
