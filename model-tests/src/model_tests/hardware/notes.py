"""The remarks of a hardware card as data (key and facts), and as a sentence in a language."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def texts() -> dict[str, dict[str, str]]:
    """Return every remark: key -> language ("en", "zh") -> sentence with named holes."""
    source = files("model_tests.hardware").joinpath("notes.toml").read_text(encoding="utf-8")
    return tomllib.loads(source)


def sentence(note: dict[str, Any], language: str) -> str:
    """Return `note` ({"key", "params"}) as a sentence; KeyError when the key, the language or a fact is missing."""
    return texts()[note["key"]][language].format(**note["params"])
