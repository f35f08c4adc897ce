"""The section about speed: intervals drawn and told in words, whatever the results hold."""

import copy
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from model_tests.report import render
from model_tests.report.labels import LANGUAGES
from model_tests.report.palette import COLOURS, FAIL, MODEL
from model_tests.report.speed import Bar, draw, speed_part

SAMPLE = json.loads((Path(__file__).parent / "resources" / "results_slow.json").read_text(encoding="utf-8"))
NAMES = dict.fromkeys(LANGUAGES, ("title", "description"))


def verified() -> dict[str, Any]:
    return copy.deepcopy(SAMPLE["verify"]["cpu"])


def test_every_side_is_told_with_its_commit_times_and_verdict() -> None:
    part = speed_part(verified(), "a0")
    assert part is not None
    assert [row.name for row in part.sides] == ["candidate", "again", "teaching", "anchor"]
    teaching = part.sides[2]
    assert (teaching.commit, teaching.median, teaching.ratio) == ("5" * 12, "3.1 ms", "2.29")
    assert teaching.between == "2.11 – 2.49"
    assert teaching.mark is not None
    assert teaching.mark.verdict == "FAIL"


def test_the_page_has_the_chart_once_and_the_same_bytes_each_time() -> None:
    page = render(SAMPLE)
    assert page.count('aria-labelledby="a0-speed-title"') == 2
    assert page == render(SAMPLE)
    assert "Speed beside earlier releases" in page
    assert "与以往发布的速度比较" in page


@pytest.mark.parametrize(("low", "slow"), [(1.06, True), (1.04, False)])
def test_only_what_is_wholly_beyond_the_bound_is_marked_as_slower(low: float, slow: bool) -> None:
    svg = draw([Bar("teaching", 1.2, low, 1.4)], 1.05, "p", NAMES)
    assert (COLOURS[FAIL][0] in svg) is slow
    assert (COLOURS[MODEL][0] in svg) is not slow
    ElementTree.fromstring(svg)  # noqa: S314 - we drew it


def test_a_run_without_baselines_has_no_section() -> None:
    found = verified()
    for nothing in (None, {}, [], "x"):
        found["speed"] = nothing
        assert speed_part(found, "a0") is None
    del found["speed"]
    assert speed_part(found, "a0") is None


@pytest.mark.parametrize(
    "interval",
    [None, 3, {}, {"ratio": "x"}, {"ratio": 1, "low": 2, "high": 3}, {"ratio": 1e300, "low": 1, "high": 1e308},
     {"ratio": 0, "low": 0, "high": 0}, {"ratio": None, "low": None, "high": None}],
    ids=str,
)  # fmt: skip
def test_an_interval_that_is_none_is_not_drawn(interval: Any) -> None:
    found = verified()
    found["speed"]["comparisons"] = {"teaching": {"ratio": interval, "a_a": interval}}
    part = speed_part(found, "a0")
    assert part is not None
    assert part.svg == ""


def test_names_are_data() -> None:
    results = copy.deepcopy(SAMPLE)
    speed = results["verify"]["cpu"]["speed"]
    hostile = "<script>alert(1)</script>"
    speed["sides"][hostile] = {"commit": hostile}
    speed["comparisons"][hostile] = speed["comparisons"]["teaching"]
    page = render(results)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
