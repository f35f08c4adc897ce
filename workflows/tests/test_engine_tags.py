"""Tags are filled in once; what is put in is data."""

import json
from typing import Any

import pytest
from gpulab.engines.local.scope import arguments_of, item_scope, parse_items, take_inputs, template_scope
from gpulab.engines.local.tags import AbsentError, TagError, fill, fill_all, names, unsupported
from hypothesis import given
from hypothesis import strategies as st

HOSTILE = [
    "{{=6*7}}",
    "{{workflow.uid}}",
    "$(TOKEN)",
    "{{",
    "}}",
    "{{inputs.parameters.x}}",
    "'; rm -rf /; '",
    "\\",
    "\n",
]
VALUES = st.one_of(st.text(max_size=40), st.sampled_from(HOSTILE), st.lists(st.sampled_from(HOSTILE)).map("".join))
TEMPLATE = {"inputs": {"parameters": [{"name": "x"}, {"name": "y", "default": "{{workflow.name}}"}]}}


@given(VALUES, VALUES)
def test_a_value_is_put_in_and_never_looked_at_again(one: str, two: str) -> None:
    scope = {"workflow.name": one, "workflow.uid": two, "inputs.parameters.x": one + two}
    assert fill("{{workflow.name}}", scope) == one
    assert fill("a {{ workflow.name }}{{workflow.uid}} b", scope) == f"a {one}{two} b"
    assert fill_all({"k": ["{{workflow.uid}}", 1]}, scope) == {"k": [two, 1]}


@given(VALUES)
def test_an_argument_with_an_opening_brace_is_refused_and_any_other_is_kept(value: str) -> None:
    if "{{" in value:
        with pytest.raises(TagError, match="Argo would expand"):
            take_inputs(TEMPLATE, {"x": value}, {"workflow.name": "run"})
    else:
        assert take_inputs(TEMPLATE, {"x": value}, {"workflow.name": "run"}) == {"x": value, "y": "run"}


@given(VALUES.filter(lambda value: "{{" not in value))
def test_all_inputs_as_json_round_trip(value: str) -> None:
    scope = template_scope(TEMPLATE, {"x": value, "y": "z"}, {})
    listed = json.loads(fill("{{inputs.parameters}}", scope))
    assert {item["name"]: item["value"] for item in listed} == {"x": value, "y": "z"}


@given(st.text(max_size=80), st.dictionaries(st.text(max_size=5), st.one_of(st.none(), st.text(max_size=5))))
def test_any_text_is_filled_or_gives_the_own_error(text: str, scope: dict[str, str | None]) -> None:
    names(text)
    [*unsupported(text)]
    try:
        fill(text, scope)
    except TagError as error:
        assert "{{" in str(error)


@pytest.mark.parametrize(
    "tag",
    [
        "=6*7",
        "foo",
        "workflow.parameters",
        "tasks.a.outputs.result",
        "inputs.artifacts.x",
        "workflow.outputs.parameters.x",
        "",
        "steps.a.ip",
        "tasks.a.outputs.parameters",
        "lastRetry.exitCode",
        "workflow.labels.x",
        "inputs.parameters.{{item",
    ],
)
def test_tags_beyond_ours_are_named(tag: str) -> None:
    assert [*unsupported(f"x {{{{{tag}}}}}")] != []


def test_an_open_tag_is_named() -> None:
    assert [*unsupported("echo '{{'")] == ["{{ without }}"]


def test_a_tag_without_a_value_is_an_error() -> None:
    with pytest.raises(TagError, match="failed to resolve"):
        fill("{{tasks.a.status}}", {})


def test_an_absent_output_leaves_the_consumer_its_default() -> None:
    call = {"arguments": {"parameters": [{"name": "y", "value": "{{tasks.a.outputs.parameters.o}}"}]}}
    arguments = arguments_of(call, {"tasks.a.outputs.parameters.o": None})
    assert take_inputs(TEMPLATE, {"x": "1", **arguments}, {"workflow.name": "run"}) == {"x": "1", "y": "run"}
    with pytest.raises(AbsentError):
        take_inputs(TEMPLATE, {"x": None}, {})


def test_an_absent_output_inside_a_text_is_an_error() -> None:
    call = {"arguments": {"parameters": [{"name": "y", "value": "a{{tasks.a.outputs.parameters.o}}"}]}}
    with pytest.raises(AbsentError):
        arguments_of(call, {"tasks.a.outputs.parameters.o": None})


JSONS: Any = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=8,
)


@given(st.one_of(st.text(max_size=30), JSONS.map(json.dumps), st.just("[" * 100_000)))
def test_any_with_param_gives_items_or_the_own_error(text: str) -> None:
    try:
        for item in parse_items(text):
            scope, description = item_scope(item)
            assert isinstance(scope["item"], str)
            assert isinstance(description, str)
    except TagError:
        pass


@pytest.mark.parametrize("text", ["{}", "1", "", "null", "[1.5]", "[NaN]", "[null]", "['a']", "[1] x"])
def test_lists_that_argo_reads_otherwise_are_refused(text: str) -> None:
    with pytest.raises(TagError):
        parse_items(text)


def test_an_object_in_an_item_is_passed_as_json_and_a_text_that_json_escapes_is_refused() -> None:
    scope, description = item_scope({"patch": {"a": ["b"]}, "n": 1, "ok": True, "name": "h100"})
    assert scope["item.patch"] == '{"a":["b"]}'
    assert (scope["item.n"], scope["item.ok"]) == ("1", "true")
    assert description == 'n:1,name:h100,ok:true,patch:{"a":["b"]}'
    with pytest.raises(TagError, match="make it an object"):
        item_scope({"patch": '{"a": "b"}'})
