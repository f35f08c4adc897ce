"""Pydantic's errors put into the words of someone who edits `lab.toml`."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic_core import ErrorDetails

from gpulab.contract.finding import Finding, wrong
from gpulab.contract.places import (
    CONFIG,
    Allowed,
    Place,
    allowed_at,
    begin_table,
    is_table,
    key_text,
    keys_at,
    tables_with,
    where_is,
)
from gpulab.contract.words import as_toml, did_you_mean, kind_of, nearest, one_of, shown


def distinct(errors: Sequence[ErrorDetails], keys: Callable[[Place], tuple[str, ...]] = keys_at) -> list[ErrorDetails]:
    """The errors without those that only echo another one.

    A mistyped key is also a missing one, and pydantic counts an invalid item as absent from its list.

    Args:
        keys: what the table at a place may have.
    """
    places = [tuple(error["loc"]) for error in errors]
    meant = {
        (*place[:-1], nearest(place[-1], keys(place[:-1])))
        for error, place in zip(errors, places, strict=True)
        if error["type"] == "extra_forbidden"
    }
    return [
        error
        for error, place in zip(errors, places, strict=True)
        if not (error["type"] == "missing" and place in meant)
        and not (error["type"] == "too_short" and any(other[:-1][: len(place)] == place for other in places))
    ]


def explain(error: ErrorDetails, document: Mapping[str, Any]) -> Finding:
    """One line for one error.

    Args:
        error: an item of `ValidationError.errors()`.
        document: what the file held, to show and to correct.
    """
    place = tuple(part for part in error["loc"] if part != "[key]")
    if error["type"] == "missing":
        return _missing(place)
    if error["type"] == "extra_forbidden":
        return _unknown_key(place)
    if error["loc"][-1] == "[key]":
        return _not_a_keyword(place)
    if error["type"] == "repeated":
        return _repeated(place, error["input"])
    return _not_allowed(place, error["input"], document)


def _missing(place: Place) -> Finding:
    if is_table(place):
        return wrong(where_is(place), "missing", begin_table(place))
    return wrong(where_is(place), "missing", f"Type: {as_toml(str(place[-1]), allowed_at(place).example)}")


def _unknown_key(place: Place) -> Finding:
    key, names = str(place[-1]), keys_at(place[:-1])
    message = f"unknown key, allowed: {one_of(names)}{did_you_mean(key, names)}"
    near, homes = nearest(key, names), tables_with(key)
    if near:
        hint = f"Type: {near} instead of {key_text(key)}."
    elif homes:
        hint = f"Move the line below {' or '.join(map(where_is, homes))}."
    else:
        hint = "Delete the line."
    return wrong(where_is(place), message, hint)


def _not_a_keyword(place: Place) -> Finding:
    message = f"found the key {shown(place[-1])}, allowed: the name of a keyword argument of the factory"
    return wrong(where_is(place[:-1]), message, "Type: a Python name, for example hidden_size = 128")


def _repeated(place: Place, found: Sequence[Any]) -> Finding:
    items = list(found)
    twice = next(item for item in items if items.count(item) > 1)
    hint = f"Type: {as_toml(str(place[-1]), list(dict.fromkeys(items)))}"
    return wrong(where_is(place), f"found {shown(twice)} more than once", hint)


def _not_allowed(place: Place, found: Any, document: Mapping[str, Any]) -> Finding:
    allowed = allowed_at(place)
    named = isinstance(found, str) and bool(allowed.names)
    kind = "" if named or isinstance(found, list | dict | tuple) else f" ({kind_of(found)})"
    message = f"found {shown(found)}{kind}, allowed: {allowed.words}{did_you_mean(found, allowed.names)}"
    return wrong(where_is(place), message, _type_this(place, found, allowed, document))


def _type_this(place: Place, found: Any, allowed: Allowed, document: Mapping[str, Any]) -> str:
    """The corrected line; the example of the field when the correction cannot be guessed."""
    if is_table(place) or (place[0] == "inputs" and isinstance(place[-1], int) and len(place) == 2):
        return begin_table(place[:1] if place != CONFIG else place)
    if place[:2] == CONFIG:
        return "Type: a value of that kind, or delete the line."
    key = next(str(part) for part in reversed(place) if isinstance(part, str))
    better = nearest(found, allowed.names) or _as_number(found, allowed)
    if better is None:
        return f"Type: {as_toml(key, allowed.example)}"
    return f"Type: {as_toml(key, _in_its_list(place, better, document))}"


def _in_its_list(place: Place, better: object, document: Mapping[str, Any]) -> object:
    """The corrected value; with its neighbours when it stands in a list."""
    if not isinstance(place[-1], int):
        return better
    value: Any = document
    for part in place[:-1]:
        value = value[part]
    right = [better if index == place[-1] else item for index, item in enumerate(value)]
    return [item for index, item in enumerate(right) if item not in right[:index]]


def _as_number(found: object, allowed: Allowed) -> object:
    """A number that was written in quotes."""
    if not isinstance(found, str) or not re.fullmatch(r"[0-9]{1,9}", found.strip()):
        return None
    if isinstance(allowed.example, bool) or not isinstance(allowed.example, int | float):
        return None
    return type(allowed.example)(found)
