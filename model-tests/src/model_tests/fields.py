"""Checked reading of values from JSON and TOML: every error names the key, what was found and what is allowed."""

from __future__ import annotations

import math
from typing import Any


class SpecError(ValueError):
    """A key of the spec is missing, unknown or out of range: says what was found, what is allowed, what to type."""

    def __init__(self, key: str, found: object, allowed: str, source: str = "spec") -> None:
        shown = "nothing" if found is None else repr(found)
        super().__init__(f"{source}: {key}: found {shown}; allowed: {allowed}")
        self.key, self.found, self.allowed = key, found, allowed


def table(raw: object, key: str, allowed: set[str]) -> dict[str, Any]:
    """Return a table, refusing keys that are not in `allowed`."""
    if not isinstance(raw, dict):
        raise SpecError(key, raw, "a table")
    for name in raw:
        if name not in allowed:
            raise SpecError(f"{key}.{name}", name, "one of " + ", ".join(sorted(allowed)))
    return raw


def items(raw: object, key: str) -> list[Any]:
    """Return a list."""
    if not isinstance(raw, list | tuple):
        raise SpecError(key, raw, "a list")
    return list(raw)


def text(raw: object, key: str) -> str:
    """Return a non-empty, printable text of one line."""
    if not isinstance(raw, str) or not raw or not raw.isprintable():
        raise SpecError(key, raw, "a non-empty text of one line")
    return raw


def integer(raw: object, key: str, least: int) -> int:
    """Return an integer of 64 bits, at least `least`; booleans are refused."""
    if isinstance(raw, bool) or not isinstance(raw, int) or not least <= raw < 2**63:
        raise SpecError(key, raw, f"an integer from {least} up" if least > -(2**63) else "an integer")
    return raw


def number(raw: object, key: str, least: float) -> float:
    """Return a finite number, at least `least`."""
    if isinstance(raw, bool) or not isinstance(raw, int | float) or not math.isfinite(raw) or raw < least:
        raise SpecError(key, raw, f"a number from {least:g} up")
    return float(raw)


def choice(raw: object, allowed: tuple[str, ...], key: str) -> str:
    """Return one of the allowed texts."""
    if not isinstance(raw, str) or raw not in allowed:
        raise SpecError(key, raw, "one of " + ", ".join(f'"{a}"' for a in allowed))
    return raw


def choices(raw: object, allowed: tuple[str, ...], key: str) -> tuple[str, ...]:
    """Return a non-empty tuple of allowed texts, each once."""
    chosen = tuple(choice(item, allowed, key) for item in items(raw, key))
    if not chosen or len(set(chosen)) != len(chosen):
        raise SpecError(key, list(chosen), "at least one candidate, each once")
    return chosen
