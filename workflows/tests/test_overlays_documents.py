"""YAML is read strictly, because what a parser forgives a reviewer does not see."""

import json
from typing import Any

import pytest
import yaml
from gpulab.rendering.documents import DocumentError, read_documents
from hypothesis import given, settings
from hypothesis import strategies as st

REFUSED = {
    "a key twice": ("a: 1\nb: 2\na: 3\n", 'line 3: found the key "a" for the second time'),
    "a key twice, deep": ("a:\n- b: 1\n  b: 2\n", 'line 3: found the key "b" for the second time'),
    "a key twice, in quotes": ('{"a": 1, a: 2}', 'line 1: found the key "a" for the second time'),
    "a number as a key": ("a: {1: x}\n", 'line 1: found the key "1", allowed: text, so write it in quotes'),
    "a switch as a key": ("on: x\n", 'line 1: found the key "on", allowed: text, so write it in quotes'),
    "an alias": ("a: &x [1]\nb: *x\n", "line 2: found the alias *x: write the value out"),
    "a merge": ("a: &x {b: 1}\nc: {<<: *x}\n", "line 2: found the alias *x: write the value out"),
    "a list": ("- a\n", 'line 1: found ["a"], allowed: a mapping with apiVersion, kind, metadata'),
    "a word": ("hello\n", 'line 1: found "hello", allowed: a mapping with apiVersion, kind, metadata'),
    "bytes": ("a: !!binary aGk=\n", "line 1: found a bytes, allowed: text, numbers, true/false, lists, mappings"),
    "a set": ("a: !!set {b}\n", "line 1: found a set, allowed: text, numbers, true/false, lists, mappings"),
    "an object": (
        "a: !!python/object/apply:os.system [true]\n",
        "line 1: could not determine a constructor for the tag 'tag:yaml.org,2002:python/object/apply:os.system'",
    ),
    "an open bracket": ("a: [1\nb: 2\n", "line 2: did not find expected ',' or ']'"),
    "a tab": ("a:\n\tb: 1\n", "line 2: found character that cannot start any token"),
    "a control character": ("a: \x00\n", "line 1: "),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_parsers_read_differently_is_refused_with_its_line(case: str) -> None:
    text, message = REFUSED[case]
    with pytest.raises(DocumentError) as caught:
        read_documents(text)
    assert str(caught.value).startswith(message)


def test_a_small_text_cannot_become_a_large_document() -> None:
    bomb = "a: &a [x]\n" + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [{f'*{chr(97 + n)},' * 9}]\n" for n in range(20))
    with pytest.raises(DocumentError, match="alias"):
        read_documents(bomb)


def test_deep_nesting_is_no_traceback() -> None:
    with pytest.raises(DocumentError):
        read_documents("a: " + "[" * 20_000)


def test_dates_are_text() -> None:
    assert read_documents("a: 2026-11-30\nb: 2026-11-30T10:00:00Z\n") == [
        {"a": "2026-11-30", "b": "2026-11-30T10:00:00Z"}
    ]


def test_documents_come_in_order_and_empty_ones_are_left_out() -> None:
    assert read_documents("---\na: 1\n---\n---\n# nothing\n---\nb: 2\n...\n") == [{"a": 1}, {"b": 2}]
    assert read_documents("") == []


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.text(max_size=10)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(st.lists(st.dictionaries(st.text(max_size=5), JSON, min_size=1, max_size=3), max_size=3))
@settings(max_examples=150)
def test_what_json_can_say_is_read_as_it_was_written(documents: list[dict[str, Any]]) -> None:
    text = yaml.safe_dump_all(documents, allow_unicode=False)
    assert read_documents(text) == documents


@given(st.text(alphabet="ab:-[]{}&*!?|>'\"#%@`, \n\t0.<", max_size=40))
@settings(max_examples=400)
def test_any_text_is_read_or_refused_with_a_line(text: str) -> None:
    try:
        documents = read_documents(text)
    except DocumentError as error:
        assert error.line >= 1
    else:
        assert json.loads(json.dumps(documents)) == documents or "NaN" in json.dumps(documents)
