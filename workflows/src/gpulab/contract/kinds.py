"""The kinds of values that `lab.toml` has beside TOML's own: each a type with its check and its description."""

import keyword
import math
import re
import unicodedata
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

LARGEST_INT = 2**63 - 1
"""TOML's and PyTorch's integers have 64 bits."""


_NO_TEXT = {"Cc", "Cs", "Zl", "Zp"}
_TURNS = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class Table(BaseModel):
    """A TOML table: unknown keys refused, no conversion between types, nothing changes after reading."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


def _refuse() -> PydanticCustomError:
    """The message comes from the field's description, in one place for all rules."""
    return PydanticCustomError("not_allowed", "not allowed")


def _line(text: str) -> str:
    """Free text of one line: no control characters, no line breaks, nothing that turns the reading direction."""
    hostile = any(unicodedata.category(letter) in _NO_TEXT or letter in _TURNS for letter in text)
    if hostile or not text.strip():
        raise _refuse()
    return text


def _listed(value: object) -> object:
    """TOML has lists; what is frozen keeps them as tuples."""
    return tuple(value) if isinstance(value, list) else value


def _unique(items: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(set(items)) != len(items):
        raise PydanticCustomError("repeated", "each may stand there once")
    return items


def _narrow(pattern: str) -> str:
    """A pattern without letters of its own would let every module compute in float32."""
    if not pattern.isprintable() or len(re.sub(r"\[[^\]]*\]|\W", "", pattern)) < 2:
        raise _refuse()
    return pattern


def _version(number: int) -> int:
    """Pydantic's `Literal[1]` would take `true` and `1.0` as well."""
    if number != 1:
        raise _refuse()
    return number


def _argument(name: str) -> str:
    if not (name.isascii() and name.isidentifier()) or keyword.iskeyword(name):
        raise _refuse()
    return name


def _plain(value: object) -> object:
    """What a factory's keyword may be: what JSON can carry without loss, no tables."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    fits = isinstance(value, bool | str) or (isinstance(value, int) and abs(value) <= LARGEST_INT)
    if not fits and not (isinstance(value, float) and math.isfinite(value)):
        raise _refuse()
    return value


IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"
MODULE = rf"{IDENTIFIER}(?:\.{IDENTIFIER})*"
_PATH_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_HOST = r"[a-zA-Z0-9](?:[-a-zA-Z0-9.]*[a-zA-Z0-9])?(?::[0-9]{1,5})?"

REPOSITORY = rf"^(?:{_HOST}/)?{_PATH_PART}(?:/{_PATH_PART})*$"
"""The grammar of an image's name without tag and digest (distribution/reference)."""

REGISTRY = rf"[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?(?::[0-9]{{1,5}})?(?:/{_PATH_PART})*"
"""A registry's host, and the path below which images are kept."""

SchemaVersion = Annotated[int, AfterValidator(_version)]
Text = Annotated[str, Field(min_length=1, max_length=120), AfterValidator(_line)]
Listed = BeforeValidator(_listed)
Unique = AfterValidator(_unique)

ConfigKey = Annotated[str, AfterValidator(_argument), Field(description="the name of a keyword argument")]
ConfigValue = Annotated[
    Any, AfterValidator(_plain), Field(description="text, a finite number, true/false, or a list of these")
]

Size = Annotated[int, Field(ge=1, le=2**31 - 1, description="a whole number from 1 to 2^31 - 1", examples=[1])]

Pattern = Annotated[
    str,
    Field(min_length=1, max_length=200, description="a pattern of module names with two or more letters of its own"),
    AfterValidator(_narrow),
]
