"""What a gate says to a person: `explain(key, language, params)`. Texts are in en.toml and zh.toml, same keys in both.

Imports no torch. A text may use any parameter as `{name}`; `{where}` becomes the module at fault or nothing, and
`{hint}` the known cause that `params["hint"]` names, or nothing. Parameters are data: braces in them stay as they are.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

LANGUAGES = ("en", "zh")


def explain(key: str, language: str, params: Mapping[str, Any]) -> tuple[str, str]:
    """Return (why, change) in a language. KeyError for an unknown key or language.

    A parameter that a text wants and the gate does not have is shown as "?": an old result must still be readable.
    """
    texts = catalogue(language)
    if "change" not in texts.get(key, {}):
        raise KeyError(key)
    values = _Values({name: shown(value) for name, value in params.items()})
    values["where"] = texts["where"]["why"].format_map(values) if params.get("module") else ""
    hint = texts.get(f"hints.{params.get('hint')}", {"why": ""})["why"]
    values["hint"] = hint.format_map(values)
    entry = texts[key]
    return entry["why"].format_map(values).strip(), entry["change"].format_map(values).strip()


@cache
def catalogue(language: str) -> dict[str, dict[str, str]]:
    """Return all texts of a language: key -> {why, change}. KeyError for a language that is not in LANGUAGES."""
    if language not in LANGUAGES:
        raise KeyError(language)
    text = files(__name__).joinpath(f"{language}.toml").read_text(encoding="utf-8")
    return dict(_entries(tomllib.loads(text)))


def shown(value: object) -> str:
    """Return a value as a person reads it: three digits, no exponent below a million, lists as shapes."""
    if isinstance(value, bool) or value is None:
        return "?" if value is None else str(value).lower()
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(shown(item) for item in value) + "]"
    return str(value)


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "∞" if value > 0 else str(value)
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        digits = 3 if value == 0 else max(0, 2 - math.floor(math.log10(abs(value))))
        text = f"{value:.{digits}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{value:.2g}"


def _entries(table: Mapping[str, Any], prefix: str = "") -> list[tuple[str, dict[str, str]]]:
    """Flatten nested tables down to those that hold texts."""
    found: list[tuple[str, dict[str, str]]] = []
    for name, value in table.items():
        key = f"{prefix}{name}"
        if all(isinstance(item, str) for item in value.values()):
            found.append((key, dict(value)))
        else:
            found += _entries(value, f"{key}.")
    return found


class _Values(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "?"
