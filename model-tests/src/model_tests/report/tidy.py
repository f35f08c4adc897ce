"""Results come from a run of somebody's code: make every value safe to lay out before anything reads it."""

import math
import re
from typing import Any

from model_tests.untrusted import mapping as mapping

MAX_TEXT = 2000
MAX_DEPTH = 12
MAX_BITS = 1000  # a longer integer is no float any more
# Not allowed in HTML or XML, or able to reorder the text around them: control characters (but tab and newline),
# lone surrogates, noncharacters, bidirectional embeddings, overrides and isolates.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def tidy(value: object, depth: int = 0) -> Any:
    """Return `value` with clean, clipped strings (keys too); what JSON cannot hold becomes its text."""
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        return math.inf if value > 0 else -math.inf
    if value is None or isinstance(value, int | float):
        return value
    if depth < MAX_DEPTH and isinstance(value, dict):
        return {clean(str(key)): tidy(item, depth + 1) for key, item in value.items()}
    if depth < MAX_DEPTH and isinstance(value, list | tuple):
        return [tidy(item, depth + 1) for item in value]
    return clean(str(value))


def clean(text: str) -> str:
    """Return `text` with a replacement character for what cannot be shown, cut after MAX_TEXT characters."""
    shown = _UNPRINTABLE.sub("\ufffd", text[: MAX_TEXT + 1])
    return shown if len(shown) <= MAX_TEXT else f"{shown[:MAX_TEXT]}…"


def rows(value: object) -> list[dict[str, Any]]:
    """Return the mappings in `value` if it is a list, else no rows."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def line(value: object) -> str:
    """Return a value as one line of text, "" for None or a container."""
    return "" if value is None or isinstance(value, dict | list) else " ".join(str(value).split())
