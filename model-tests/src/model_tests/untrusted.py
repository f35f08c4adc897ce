"""Values that somebody's code may have written: made plain before anything reads them."""

from __future__ import annotations

from typing import Any

LONGEST_TEXT = 500


def mapping(raw: object) -> dict[str, Any]:
    """Return `raw` if it is a mapping, else an empty one: a missing section is an empty section."""
    return raw if isinstance(raw, dict) else {}


def line(raw: object) -> str:
    """Return a value as one printable line of at most LONGEST_TEXT characters, "" for None."""
    return flat(str("" if raw is None else raw))[:LONGEST_TEXT]


def flat(text: str) -> str:
    """Return the text on one line, a blank for each run of blanks and of what cannot be printed."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
