"""Places in `lab.toml`: their names for people, and what `Lab` says may stand there."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from gpulab.contract.lab import Lab
from gpulab.contract.words import as_toml, one_of, shown

Place = tuple[str | int, ...]
"""Keys and list positions from the top, as pydantic's `loc`."""

CONFIG: Place = ("model", "config")
"""The one table whose keys belong to the project."""


@dataclass(frozen=True)
class Allowed:
    """What may stand at a place: in words, the names to choose from (if it is a choice), and an example."""

    words: str
    names: tuple[str, ...] = ()
    example: object = None


def where_is(place: Place) -> str:
    """`("precision", "candidates", 1)` -> `[precision] candidates[1]`; `("inputs", 0)` -> `[[inputs]] #1`."""
    table, rest = _split(place)
    keys = "".join(f"[{part}]" if isinstance(part, int) else f".{key_text(part)}" for part in rest).lstrip(".")
    return " ".join(part for part in (table, keys) if part)


def _split(place: Place) -> tuple[str, Place]:
    if place[:1] == ("inputs",):
        row = f" #{place[1] + 1}" if len(place) > 1 and isinstance(place[1], int) else ""
        return f"[[inputs]]{row}", place[2:]
    if place[:2] == CONFIG:
        return "[model.config]", place[2:]
    return (f"[{place[0]}]", place[1:]) if is_table(place[:1]) else ("", place)


def key_text(name: object) -> str:
    """A key as it is typed: bare when TOML allows it, cut when it is long."""
    return str(name) if re.fullmatch(r"[A-Za-z0-9_-]{1,60}", str(name)) else shown(str(name))


def fields_of(model: type[BaseModel]) -> Mapping[str, FieldInfo]:
    """Fields by the name they have in the file."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def is_table(place: Place) -> bool:
    """Whether a table (or the list of `[[inputs]]`) has to stand there."""
    if place == CONFIG:
        return True
    return len(place) == 1 and (field := field_at(place)) is not None and model_in(field.annotation) is not None


def model_in(annotation: Any) -> type[BaseModel] | None:
    """The table's type inside `Project` or `tuple[Input, ...]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := model_in(part))), None)


def field_at(place: Place) -> FieldInfo | None:
    """The field whose value stands at a place, or that holds the list or table it stands in."""
    model: type[BaseModel] | None = Lab
    field: FieldInfo | None = None
    for part in place:
        if isinstance(part, str) and model is not None:
            field = fields_of(model).get(part)
            model = model_in(field.annotation) if field else None
    return field


def keys_at(place: Place) -> tuple[str, ...]:
    """The keys that the table at a place may have."""
    field = field_at(place)
    model = Lab if not place else model_in(field.annotation) if field else None
    return tuple(fields_of(model)) if model else ()


def tables_with(key: str) -> tuple[Place, ...]:
    """The tables that know a key."""
    return tuple((table,) for table in fields_of(Lab) if key in keys_at((table,)))


def allowed_at(place: Place) -> Allowed:
    """What `Lab` allows at a place."""
    field = field_at(place)
    if field is None:
        return Allowed("a table")
    kind = _inside(field.annotation, place)
    words = [note.description for note in getattr(kind, "__metadata__", ()) if isinstance(note, FieldInfo)]
    while get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    example = field.examples[0] if field.examples else None
    if get_origin(kind) is Literal:
        names = tuple(map(str, get_args(kind)))
        return Allowed(one_of(names), names, example)
    return Allowed(next(filter(None, words), None) or field.description or "a table", (), example)


def _inside(annotation: Any, place: Place) -> Any:
    """The type of a list's item (the place ends with a number) or of a keyword's value."""
    items = [part for part in get_args(annotation) if part is not Ellipsis]
    nested = isinstance(place[-1], int) or (place[:2] == CONFIG and place != CONFIG)
    return items[-1] if nested and items and get_origin(annotation) in (tuple, dict) else annotation


def begin_table(place: Place) -> str:
    """What to type for a missing table: its header and its first key."""
    if place == CONFIG:
        return "Type: [model.config] and below it one line per keyword argument of the factory."
    first = keys_at(place)[0]
    line = as_toml(first, allowed_at((*place, first)).example)
    others = f", then {one_of(keys_at(place)[1:])}" if keys_at(place)[1:] else ""
    return f"Type: {where_is(place)} and below it {line}{others}."
