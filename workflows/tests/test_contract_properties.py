"""Whatever stands in `lab.toml`: one line per problem, or exactly the types that were promised; never a traceback."""

import copy
import json
import math
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from gpulab.contract import ContractError, Lab, parse_lab, spec_of
from gpulab.contract.read import validate_lab
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model_tests.spec import Spec

TEXT = (Path(__file__).parent / "resources/projects/valid/lab.toml").read_text(encoding="utf-8")
VALID: dict[str, Any] = tomllib.loads(TEXT)

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-2, 2000)
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from(["float16", "cpu", "t4", "1", "a.b:c", "*", "\n", "\x00", "tokens", "😀", "-1", "1e999"])
    | st.dates()
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


def places(value: Any, here: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every place of a document where a value stands."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [here, *(place for key, item in items for place in places(item, (*here, key)))]


PLACES = [place for place in places(VALID) if place] + 9 * [("model", "config", "context")]
"""All of them, and often the one table whose keys are free."""


HUGE = st.sampled_from([math.nan, math.inf, -math.inf, 2**31, 2**63, -(2**63), 2**200, -1, 0, 1e300])


def near(value: Any) -> st.SearchStrategy[Any]:
    """What somebody could take for the same value: another type, one more bracket, a number out of range."""
    others: list[Any] = [str(value), [value], {"value": value}, [], bool(value)]
    if isinstance(value, int | float) and abs(value) < 2**40:
        others += [float(value), int(value), value + 0.5, -value]
    return st.sampled_from(others) | HUGE


@st.composite
def edited_documents(draw: st.DrawFn) -> Any:
    """The valid document with up to three values replaced, removed or added anywhere."""
    document = copy.deepcopy(VALID)
    for place in draw(st.lists(st.sampled_from(PLACES), min_size=1, max_size=3)):
        try:
            parent: Any = document
            for key in place[:-1]:
                parent = parent[key]
            edit = draw(st.sampled_from(["replace", "remove", "add", "near"]))
            if edit == "remove":
                del parent[place[-1]]
            elif edit == "add" and isinstance(parent, dict):
                parent[draw(st.sampled_from(["eps", "theta"]) | st.text(max_size=8))] = draw(VALUES | HUGE)
            else:
                parent[place[-1]] = draw(near(parent[place[-1]]) if edit == "near" else VALUES)
        except (KeyError, IndexError, TypeError):
            continue
    return document


def assert_one_line_each(error: ContractError) -> None:
    assert error.problems
    assert error.exit_code == 2
    for problem in error.problems:
        line = str(problem)
        assert line.startswith("lab.toml")
        assert line == " ".join(line.split())
        assert all(letter.isprintable() for letter in line)
        assert "Traceback" not in line
        assert "pydantic" not in line


FLOATS = {("precision", "max_ratio"), ("limits", "memory_gib")}
"""The only places where a whole number is read as a number."""


def assert_unchanged(read: Any, given: Any, place: tuple[str, ...] = ()) -> None:
    """Nothing was converted, dropped or added on the way from the file."""
    if isinstance(given, dict):
        assert set(read) == set(given)
        for key in given:
            assert_unchanged(read[key], given[key], (*place, key))
    elif isinstance(given, list):
        assert type(read) in (tuple, list)
        assert len(read) == len(given)
        for one, other in zip(read, given, strict=True):
            assert_unchanged(one, other, place)
    else:
        assert read == given
        assert type(read) is (float if place in FLOATS and given is not None else type(given))


def assert_as_promised(lab: Lab) -> None:
    """The types and ranges of the interface, written out again, independently of the model."""
    assert type(lab.schema_version) is int
    assert lab.schema_version == 1
    names = (lab.project.name, lab.project.slug, lab.project.package, lab.project.author, lab.project.course)
    assert all(type(name) is str for name in names)
    assert type(lab.model.seed) is int
    assert 0 <= lab.model.seed < 2**63
    assert type(lab.model.config) is dict
    for entry in lab.inputs:
        assert type(entry.name) is str
        assert all(type(size) is int and size > 0 for size in entry.shape)
        if entry.dtype == "int64":
            assert type(entry.low) is int
            assert type(entry.high) is int
            assert entry.low < entry.high
        else:
            assert (entry.dtype, entry.low, entry.high) == ("float32", None, None)
    assert {entry.shape[0] for entry in lab.inputs} == {lab.inputs[0].shape[0]}
    assert set(lab.precision.candidates) <= {"float16", "bfloat16", "float16-autocast", "bfloat16-autocast"}
    assert len(set(lab.precision.candidates)) == len(lab.precision.candidates) >= 1
    assert lab.precision.max_ratio is None or 1 < lab.precision.max_ratio <= 2
    assert type(lab.benchmark.iterations) is int
    assert type(lab.limits.timeout_seconds) is int
    assert type(lab.limits.memory_gib) is float
    assert math.isfinite(lab.limits.memory_gib)
    assert type(lab.serving.port) is int
    assert 1024 <= lab.serving.port <= 65535


@given(edited_documents())
@settings(max_examples=500, suppress_health_check=[HealthCheck.too_slow])
def test_an_edited_contract_is_kept_or_refused_in_lines(document: dict[str, Any]) -> None:
    try:
        lab = validate_lab(document)
    except ContractError as error:
        assert_one_line_each(error)
        return
    assert_as_promised(lab)
    assert_unchanged(lab.model_dump(by_alias=True, exclude_unset=True), document)
    assert all(math.isfinite(number) for number in numbers(document))
    assert all(abs(number) < 2**63 for number in numbers(document) if isinstance(number, int))


def numbers(value: Any) -> list[float]:
    """All numbers of a document."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = [value] if isinstance(value, int | float) else []
    return own + [number for item in items for number in numbers(item)]


@given(edited_documents())
@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
def test_what_gpulab_accepts_the_judge_accepts_unchanged(document: dict[str, Any]) -> None:
    try:
        spec = spec_of(validate_lab(document))
    except ContractError:
        return
    assert json.loads(json.dumps(spec, allow_nan=False)) == spec
    assert Spec.from_dict(spec).to_dict() == spec


@given(st.dictionaries(st.sampled_from([*VALID, "x"]), VALUES, max_size=6))
@settings(max_examples=200)
def test_any_other_document_is_refused_in_lines(document: dict[str, Any]) -> None:
    with pytest.raises(ContractError) as caught:
        validate_lab(document)
    assert_one_line_each(caught.value)


@given(st.text(max_size=80) | st.builds(lambda a, b: f"{TEXT[:a]}{b}{TEXT[a:]}", st.integers(0, len(TEXT)), st.text()))
@settings(max_examples=300)
def test_any_text_is_kept_or_refused_in_lines(text: str) -> None:
    try:
        assert_as_promised(parse_lab(text))
    except ContractError as error:
        assert_one_line_each(error)


@given(st.text(min_size=1, max_size=120))
@settings(max_examples=200)
def test_a_free_text_is_data(name: str) -> None:
    """Quotes, backslashes and emoji round-trip; control characters are refused, not escaped away."""
    document = tomlkit.parse(TEXT)
    try:
        document["project"]["name"] = name  # type: ignore[index]
        lab = parse_lab(tomlkit.dumps(document))
    except (ContractError, UnicodeEncodeError):
        assert not name.isprintable() or not name.strip()
    else:
        assert lab.project.name == name
