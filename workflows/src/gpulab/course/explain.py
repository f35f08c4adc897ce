"""Pydantic's errors put into the words of a teacher who edits `course.toml`."""

from typing import get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from gpulab.contract import known
from gpulab.contract.finding import Finding
from gpulab.contract.places import Place, fields_of, key_text, model_in
from gpulab.contract.words import as_toml, did_you_mean, nearest, one_of, shown
from gpulab.course.course import CATALOGUE, Course


def explain(file: str, error: ErrorDetails) -> Finding:
    """One line for one error of a file."""
    place = tuple(part for part in error["loc"] if isinstance(part, str))
    if error["type"] == "extra_forbidden":
        names = keys_at(place[:-1])
        near = nearest(place[-1], names)
        message = f"unknown key, allowed: {one_of(names)}{did_you_mean(place[-1], names)}"
        return Finding("error", file, where_is(place), message, f"Type: {near}" if near else "Delete the line.")
    field = fields_of(table_at(place[:-1])).get(place[-1])
    example = as_toml(place[-1], field.examples[0]) if field and field.examples else f"[{place[-1]}]"
    return Finding("error", file, where_is(place), found_and_allowed(error, field), f"Type: {example}")


def found_and_allowed(error: ErrorDetails, field: FieldInfo | None) -> str:
    """What stands there, and what may."""
    if error["type"] == "missing":
        return "missing"
    if error["type"] == "repeated":
        return "found a name more than once"
    names, listed = names_of(field)
    words = one_of(names) or (field.description if field else None) or "a table"
    whole = listed and not isinstance(error["loc"][-1], int)
    meant = "" if whole else did_you_mean(error["input"], names)
    return f"found {shown(error['input'])}, allowed: {'a list of ' if whole else ''}{words}{meant}"


def names_of(field: FieldInfo | None) -> tuple[tuple[str, ...], bool]:
    """The names to choose from, and whether several may stand there."""
    if field is None:
        return (), False
    listed = get_origin(field.annotation) is tuple
    if field.description == CATALOGUE:
        return tuple(known.accelerators()), listed
    return tuple(get_args(get_args(field.annotation)[0] if listed else field.annotation)), listed


def where_is(place: Place) -> str:
    """`("answers", "model")` -> `[answers] model`."""
    known_table = place[:1] and table_at(place[:1]) is not Course
    parts = (f"[{place[0]}]", *map(key_text, place[1:])) if known_table else tuple(map(key_text, place))
    return " ".join(parts)


def keys_at(place: Place) -> tuple[str, ...]:
    """The keys that the table at a place may have."""
    return tuple(fields_of(table_at(place)))


def table_at(place: Place) -> type[BaseModel]:
    """The table at a place; the whole file when there is none."""
    field = fields_of(Course).get(str(place[0])) if place else None
    return (model_in(field.annotation) if field else None) or Course
