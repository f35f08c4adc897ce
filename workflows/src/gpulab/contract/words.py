"""Values, kinds and near misses put into words for error messages."""

import difflib
import json
from collections.abc import Iterable, Mapping

import tomlkit
from tomlkit.exceptions import TOMLKitError

LONGEST = 60
"""Characters of a found value that are shown."""

OTHER_NAMES: Mapping[str, str] = {
    "fp16": "float16",
    "half": "float16",
    "f16": "float16",
    "amp": "float16-autocast",
    "fp16-autocast": "float16-autocast",
    "autocast": "float16-autocast",
    "bf16": "bfloat16",
    "bf16-autocast": "bfloat16-autocast",
    "fp32": "float32",
    "f32": "float32",
    "float": "float32",
    "long": "int64",
    "int": "int64",
    "resnet": "resnet50",
    "prod": "production",
}
"""What people call a thing -> what it is called here."""

_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "true/false"),
    (int, "a whole number"),
    (float, "a number"),
    (str, "text"),
    (list, "a list"),
    (tuple, "a list"),
    (dict, "a table"),
)


def kind_of(value: object) -> str:
    """The TOML kind of a value, in plain words."""
    return next((words for kind, words in _KINDS if isinstance(value, kind)), f"a {type(value).__name__}")


def shown(value: object) -> str:
    """A found value as one short line without control characters."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    text = "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def one_of(choices: Iterable[str]) -> str:
    """The allowed names, in their own order."""
    return ", ".join(choices)


def nearest(word: object, choices: Iterable[str]) -> str | None:
    """The choice that was probably meant; None when nothing is near."""
    known = {choice.lower(): choice for choice in choices}
    if not isinstance(word, str) or not known:
        return None
    low = word.strip().lower().replace("_", "-") if any("-" in name for name in known) else word.strip().lower()
    for candidate in (low, word.strip().lower(), OTHER_NAMES.get(low, "")):
        if candidate in known:
            return known[candidate]
    starts = [name for name in known if low and name.startswith(low)]
    near = starts[:1] or difflib.get_close_matches(low, known, n=1)
    return known[near[0]] if near else None


def did_you_mean(word: object, choices: Iterable[str]) -> str:
    """`; did you mean "x"?`, or nothing."""
    near = nearest(word, choices)
    return f"; did you mean {shown(near)}?" if near else ""


def as_toml(key: str, value: object) -> str:
    """A line to type into a TOML file."""
    try:
        return f"{tomlkit.key(key).as_string()} = {tomlkit.item(value).as_string()}"
    except (TOMLKitError, ValueError, TypeError):
        return f"{key} = …"
