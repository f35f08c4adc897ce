"""The INT8 section of the report: there when it was asked for, whole when the facts are not."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from model_tests.report import render
from model_tests.report.int8 import int8_rows

RESULTS = Path(__file__).parent / "resources"


def sample(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / f"results_{name}.json").read_text(encoding="utf-8"))
    return found


def test_without_int8_there_is_no_section() -> None:
    assert "INT8 beside float32" not in render(sample("passing"))


def test_both_schemes_are_shown_with_their_numbers() -> None:
    page = render(sample("int8"))
    for text in ("INT8 beside float32", "0.0622 … 0.0858", "3.38 MiB", "1.06 MiB", "99.4 %", "KL divergence", "71 %"):
        assert text in page
    assert page.count("layers.2.feed_forward.down") > page.count("layers.3.feed_forward.down") >= 2
    assert "(Embedding: not a linear or convolution layer)" in page


@pytest.mark.parametrize("facts", [None, 3, [], {}, {"verdict": "FAIL"}, {"kept": 3, "worst": "x", "low": None}])
def test_facts_that_are_missing_leave_dashes(facts: Any) -> None:
    results = copy.deepcopy(sample("int8"))
    results["verify"]["cpu"]["int8"] = {"dynamic": facts}
    (row,) = int8_rows(results["verify"]["cpu"])
    assert (row.loss, row.between, row.agreement, row.kept, row.worst) == ("–", "–", "–", [], [])
    assert "INT8 beside float32" in render(results)


def test_a_long_list_of_what_stayed_is_cut() -> None:
    facts = {"kept": {f"<b>{n}</b>": "tied" for n in range(50)}}
    (row,) = int8_rows({"int8": {"dynamic": facts}})
    assert (len(row.kept), row.omitted) == (20, 30)
    assert "shares its weight" in row.kept[0][1]
