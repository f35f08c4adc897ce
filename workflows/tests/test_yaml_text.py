import pytest
import yaml
from gpulab.rendering.yaml_text import RenderError, to_yaml, to_yaml_stream
from hypothesis import given
from hypothesis import strategies as st

NUMERIC_LOOKING = [
    "1e3", "1234e56", "0e12345", ".5e3", "0o17", "0x1F", "1_000", "1.", "-1", "+1", ".inf", "-.INF", ".nan",
    "12:30:45", "2026-11-30", "y", "N", "on", "Off", "yes", "NO", "null", "~", "", "true", "FALSE", "1.2.3", "0b1",
]  # fmt: skip

json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(min_size=1, max_size=8), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize("text", NUMERIC_LOOKING)
def test_text_that_looks_like_something_else_is_quoted(text: str) -> None:
    assert to_yaml({"value": text}) == f"value: '{text}'\n"


@pytest.mark.parametrize(
    "text", ["echo '{{'", "{{=6*7}}", "}}}", "a {{ b", "x" * 300 + " {{inputs.parameters.a}} " + "y" * 300]
)
def test_braces_and_long_lines_survive(text: str) -> None:
    rendered = to_yaml({"args": [text]})
    assert yaml.safe_load(rendered) == {"args": [text]}
    assert rendered.count("\n") == 2


@given(json_like)
def test_everything_reads_back_or_is_refused(document: object) -> None:
    try:
        text = to_yaml(document)
    except (RenderError, yaml.YAMLError):
        return  # characters that YAML cannot carry are refused, not changed
    assert yaml.safe_load(text) == document


def test_two_documents_are_a_stream() -> None:
    assert list(yaml.safe_load_all(to_yaml_stream([{"a": 1}, {"b": "2"}]))) == [{"a": 1}, {"b": "2"}]
