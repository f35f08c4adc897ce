"""Numbers, text, labels and gates of the report."""

import json
import math
import re
from importlib.resources import files
from pathlib import Path
from string import Formatter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_tests.report import labels
from model_tests.report.gates import gate_rows
from model_tests.report.numbers import as_float, number, shape, size, versus
from model_tests.report.tidy import MAX_TEXT, clean, tidy

REPORT = Path(str(files("model_tests.report")))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.0, "0"),
        (-0.0, "0"),
        (1.5, "1.5"),
        (0.98765, "0.988"),
        (101.0, "101"),
        (12.345, "12.3"),
        (12345, "12,345"),
        (123456.7, "123,457"),
        (999999.9, "1,000,000"),
        (1234567.8, "1.23×10⁶"),
        (0.00012, "1.20×10⁻⁴"),
        (-2.5, "−2.5"),
        (10**12, "1.00×10¹²"),
        (math.nan, "NaN"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (10**400, "∞"),
        (None, "–"),
        ([1], "–"),
        (True, "True"),
        ("n/a", "n/a"),
    ],
)
def test_numbers_are_written_for_people(value: object, text: str) -> None:
    assert number(value) == text


@given(st.floats() | st.integers())
def test_any_number_has_a_short_text(value: float) -> None:
    assert 0 < len(number(value)) < 20


@pytest.mark.parametrize(
    ("value", "bound", "texts"),
    [
        (0.99, 1.5, ("0.99", "1.5")),
        (1.5004, 1.5, ("1.5004", "1.5")),
        (1.50000001, 1.5, ("1.50000001", "1.5")),
        (1.5, 1.5, ("1.5", "1.5")),
        (None, None, ("–", "–")),
        (math.nan, 1.5, ("NaN", "1.5")),
    ],
)
def test_a_number_just_above_its_bound_is_not_shown_as_the_bound(
    value: Any, bound: Any, texts: tuple[str, str]
) -> None:
    assert versus(value, bound) == texts


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (1023, "1,023 B"),
        (1536, "1.5 KiB"),
        (3 * 2**30, "3 GiB"),
        (2**60, "1.05×10⁶ TiB"),
        (None, "–"),
        (math.nan, "–"),
    ],
)
def test_sizes_have_binary_units(value: object, text: str) -> None:
    assert size(value) == text


def test_what_is_no_number_is_not_a_number() -> None:
    assert all(math.isnan(as_float(value)) for value in (None, "1", True, [], {}))
    assert as_float(10**400) == math.inf
    assert shape([4, 64]) == "4 × 64"
    assert [shape(value) for value in (None, [], "ab", 3)] == [""] * 4


def test_text_is_cleaned_and_cut() -> None:
    assert clean("a\x00b\x1bc\ud800d\u202ee") == "a�b�c�d�e"
    assert clean("模型 👩‍🔬\tx\n") == "模型 👩‍🔬\tx\n"
    assert clean("x" * (MAX_TEXT + 5)) == "x" * MAX_TEXT + "…"
    assert tidy({"k\x00": [("a",), {1: 10**400}]}) == {"k�": [["a"], {"1": math.inf}]}


def test_deep_nesting_ends_in_text() -> None:
    value: Any = "end"
    for _ in range(500):
        value = [value]
    assert isinstance(json.dumps(tidy(value)), str)


def all_labels() -> list[tuple[str, dict[str, str]]]:
    return [(f"{section}.{name}", found) for section, names in labels.texts().items() for name, found in names.items()]


@pytest.mark.parametrize(("key", "found"), all_labels(), ids=[key for key, _ in all_labels()])
def test_every_label_says_the_same_in_both_languages(key: str, found: dict[str, str]) -> None:
    assert set(found) == set(labels.LANGUAGES)
    holes = [sorted(name for _, name, _, _ in Formatter().parse(text) if name) for text in found.values()]
    assert holes[0] == holes[1]
    assert all(text.strip() == text and text for text in found.values())
    assert re.search("[\u4e00-\u9fff]", found["zh"]) or found["zh"] == "logits", key
    assert not re.search("[\u4e00-\u9fff]", found["en"])


def test_every_label_is_used_and_every_used_label_exists() -> None:
    sources = [*REPORT.glob("*.py"), *REPORT.glob("templates/*.j2")]
    code = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    direct = set(re.findall(r'"((?:[a-z0-9]+)\.[a-z0-9_]+)"', code))
    keys = {key for key, _ in all_labels()}
    built = ("unit.", "verdict.", "headline.", "fp32.", "int8.", "staircase.", "memory.", "provenance.", "limits.")
    assert {key for key in keys if key not in direct and not key.startswith(built)} == set()
    used = set(re.findall(r'(?:\bt|label|text)\("([a-z0-9]+\.[a-z0-9_]+)"', code))
    assert used - keys == set()


def test_values_are_escaped_in_labels() -> None:
    assert "&lt;b&gt;" in labels.label("hardware.lane", lane="<b>")
    assert labels.text("hardware.lane", "zh", lane="<b>") == "镜像通道 <b>"


def test_a_bound_that_is_the_least_needed_is_written_so() -> None:
    gate = {"name": "precision/float16", "verdict": "INCONCLUSIVE", "key": "precision.few-values", "value": 16.0}
    assert gate_rows({"gates": [gate | {"bound": 256.0}]})[0].allowed == "≥ 256"
    assert gate_rows({"gates": [gate | {"bound": 1.5, "key": "precision.ratio"}]})[0].allowed == "≤ 1.5"


def test_every_unit_of_the_judge_is_known_in_both_languages() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in (REPORT.parent / "judging").glob("*.py"))
    written = set(re.findall(r'(?:"unit": |unit=|UNITS\.get\([^)]*, |\bNU = )"([^"]+)"', code))
    table = re.search(r"\bUNITS = \{(.*?)\}", code, re.DOTALL)
    assert table
    written |= set(re.findall(r': "([^"]+)"', table[1]))
    assert len(written) > 5
    assert written - set(labels.texts()["unit"]) == set()
