"""The error staircase: where the line is drawn, what is marked, and what its table says."""

import math
import re
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_tests.report.blocks import CHARACTER, block, placed, shortened
from model_tests.report.charts import candidate_charts
from model_tests.report.runs import runs
from model_tests.report.staircase import Staircase, draw

NAMES = {"en": ("title", "text"), "zh": ("标题", "说明")}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("layers.0.attention.wq", "layers.0"),
        ("norm", "norm"),
        ("layer1.0.conv1", "layer1.0"),
        ("a.b.c", "a"),
        ("", ""),
        ("model.layers.12.mlp.experts.3.w1", "model.layers.12"),
    ],
)
def test_modules_are_grouped_by_their_block(name: str, expected: str) -> None:
    assert block(name) == expected


@given(st.lists(st.integers(1, 40), min_size=1, max_size=60))
def test_block_names_never_overlap(sizes: list[int]) -> None:
    spans, start = [], 0
    for index, length in enumerate(sizes):
        spans.append((start, start + length, f"layers.{index}"))
        start += length
    edges = [-1.0, -1.0]
    for centre, row, text in placed(spans, start):
        half = len(text) * CHARACTER / 2
        assert centre - half >= edges[row]
        assert centre - half >= -1e-9
        assert centre + half <= 1 + 1e-9
        edges[row] = centre + half


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)  # noqa: S314 - our own chart


def staircase(measured: list[float], floor: list[float] | None = None) -> Staircase:
    floor = floor or [1.0] * len(measured)
    names = [f"layers.{index // 4}.part{index}" for index in range(len(measured))]
    return Staircase(
        names, measured, floor, [1.5 * value for value in floor], [math.isinf(value) for value in measured]
    )


def heights(svg: str) -> list[float]:
    """The height of each step of the measured line, from the path that is drawn."""
    found = re.search(r'id="c-measured">\s*<path d="([^"]*)"', svg)
    assert found
    points = [(float(x), float(y)) for x, y in re.findall(r"[ML] (-?[\d.]+) (-?[\d.]+)", found[1])]
    return [y for (x, y), (following, _) in pairwise(points) if following > x]


def test_the_line_is_drawn_where_the_numbers_are() -> None:
    measured = [0.5, 1.0, 1.1, 3.0, 2.0, 2.5]
    drawn = heights(draw(staircase(measured), "c", NAMES))
    scale = (drawn[3] - drawn[0]) / (measured[3] - measured[0])
    assert drawn == pytest.approx([drawn[0] + scale * (value - measured[0]) for value in measured], abs=0.05)
    assert scale < 0


def test_far_apart_numbers_are_drawn_on_a_logarithmic_scale() -> None:
    drawn = heights(draw(staircase([1.0, 10.0, 100.0, 1000.0]), "c", NAMES))
    steps = [second - first for first, second in pairwise(drawn)]
    assert steps == pytest.approx([steps[0]] * 3, abs=0.05)


def test_modules_above_the_band_and_broken_ones_get_different_marks_and_the_first_its_name() -> None:
    svg = draw(staircase([1.0, 2.0, 3.0, math.inf, math.inf, math.nan]), "c", NAMES)
    root = parsed(svg)
    uses = [element.attrib["href"] for element in root.iter("use") if "var(--fail" in element.attrib.get("style", "")]
    assert sorted(uses.count(target) for target in set(uses)) == [2, 2]
    assert [element.text for element in root.iter("text")].count("layers.0.part1") == 1


def test_a_name_is_not_read_as_mathematics() -> None:
    names = [r"$x^2$", r"\frac{1}{$", "$$"]
    root = parsed(draw(Staircase(names, [9.0] * 3, [1.0] * 3, [1.5] * 3, [False] * 3), "c", NAMES))
    assert r"$x^2$" in [element.text for element in root.iter("text")]


def test_a_chart_has_title_and_description_in_both_languages_and_no_style_of_its_own() -> None:
    root = parsed(draw(staircase([1.0, 1.2]), "c", NAMES))
    assert [(child.tag, child.get("lang"), child.text) for child in list(root)[:4]] == [
        ("title", "en", "title"),
        ("title", "zh", "标题"),
        ("desc", "en", "text"),
        ("desc", "zh", "说明"),
    ]
    tags = {element.tag for element in root.iter()}
    assert tags & {"style", "metadata", "script", "image"} == set()
    assert all(element.attrib.get("id", "c-").startswith("c-") for element in root.iter())
    assert re.findall("#0[1-9]0[1-9]0[1-9]", ElementTree.tostring(root, encoding="unicode")) == []


@pytest.mark.parametrize(
    "measured",
    [[math.nan], [math.inf], [0.0], [-1.0, 1.0], [1e300, 1e-300], [0.0, 0.0], [1e-9] * 3, [5e15, 1.0], [1.0] * 700],
    ids=range(9),
)
def test_any_heights_can_be_drawn(measured: list[float]) -> None:
    parsed(draw(staircase(measured), "c", NAMES))


def test_long_names_lose_their_middle() -> None:
    assert shortened("layers.0.attention", 40) == "layers.0.attention"
    assert shortened("a\nb", 5) == "a b"
    assert shortened("x" * 30 + "y" * 30, 20) == "x" * 14 + "…" + "y" * 5


def module(**changes: Any) -> dict[str, Any]:
    return {"name": "a.b", "kind": "Linear", "shape": [4], "nu": 1.0, "floor": 1.0, "nonfinite": 0} | changes


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, "inside"),
        ({"nu": 1.5}, "inside"),
        ({"nu": 1.51}, "over"),
        ({"nu": None}, "unknown"),
        ({"nu": None, "floor": None}, "unknown"),
        ({"floor": None}, "inside"),
        ({"nu": None, "nonfinite": 3}, "broken"),
        ({"nu": math.nan}, "broken"),
        ({"nu": math.inf}, "broken"),
        ({"nu": 1.2, "nonfinite": 64}, "inside"),
    ],
)
def test_a_module_that_was_not_compared_is_not_called_broken_nor_a_mask_with_minus_infinity(
    changes: dict[str, Any], state: str
) -> None:
    (chart,) = candidate_charts({"modules": {"float16": [module(**changes)]}}, 1.5, "c")
    assert [row.state for row in chart.modules] == [state]


def test_the_band_is_the_bound_of_the_ratio_even_when_another_measure_decided() -> None:
    gate = {"name": "precision/float16", "verdict": "FAIL", "key": "precision.kl", "value": 9.0, "bound": 4.0}
    verify = {"modules": {"float16": [module(nu=2.0)]}, "gates": [gate]}
    (chart,) = candidate_charts(verify, 1.5, "c")
    assert chart.bound == "1.5"
    assert chart.modules[0].state == "over"


@pytest.mark.parametrize(
    ("verdicts", "shown"),
    [
        (("PASS", "PASS", "PASS"), "PASS"),
        (("PASS", "FAIL", "NOT APPLICABLE"), "FAIL"),
        (("PASS", "PASS", "INCONCLUSIVE"), "INCONCLUSIVE"),
        (("FAIL", "PASS", "INCONCLUSIVE"), "FAIL"),
    ],
)
def test_a_chart_carries_the_worst_verdict_of_its_candidate_and_the_numbers_behind_it(
    verdicts: tuple[str, str, str], shown: str
) -> None:
    gates = [
        {"name": f"{kind}/float16", "verdict": verdict, "params": {"kl_ratio": 0.97, "hint": "rope", "value": 1.0}}
        for kind, verdict in zip(("census", "finite", "precision"), verdicts, strict=True)
    ]
    other = {"name": "finite/bfloat16", "verdict": "FAIL"}
    (chart,) = candidate_charts({"modules": {"float16": [module()]}, "gates": [other, *gates]}, 1.5, "c")
    assert chart.mark
    assert chart.mark.verdict == shown
    assert chart.measures == [("kl_ratio", "0.97")]


def test_runs_come_in_the_order_of_the_reader_whatever_the_order_of_the_file() -> None:
    table = dict.fromkeys(["bfloat16", "other", "float16-autocast", "float32", "float16"], 1)
    assert [name for name, _ in runs(table)] == ["float32", "float16", "bfloat16", "float16-autocast", "other"]


def test_what_lies_above_the_band_on_the_way_to_a_good_output_is_not_painted_as_a_fault() -> None:
    (good, bad) = candidate_charts({"modules": {"a": [module(nu=9.0), module()], "b": [module(nu=9.0)]}}, 1.5, "c")
    assert good.ends_inside
    assert not bad.ends_inside


def test_a_few_very_small_errors_do_not_make_the_scale_logarithmic() -> None:
    drawn = heights(draw(staircase([1e-4, 1.0, 1.5, 2.0]), "c", NAMES))
    assert drawn[3] - drawn[2] == pytest.approx(drawn[2] - drawn[1], abs=0.05)
