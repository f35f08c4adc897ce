"""The parts of the report: numbers, labels, charts, schemas, samples."""

import importlib.util
import json
import math
import re
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from string import Formatter
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, ValidationError
from model_tests.report import labels
from model_tests.report.charts import candidate_charts
from model_tests.report.gates import gate_rows
from model_tests.report.numbers import as_float, number, shape, size, versus
from model_tests.report.staircase import Staircase, block, draw, placed, shortened
from model_tests.report.tidy import MAX_TEXT, clean, tidy
from referencing import Registry, Resource

RESOURCES = Path(__file__).parent / "resources"
REPORT = Path(str(files("model_tests.report")))
SCHEMAS = {path.name.split(".")[0]: json.loads(path.read_text()) for path in sorted((REPORT / "schema").glob("*.json"))}
DOCUMENT = Path(__file__).parents[2] / "docs" / "results-schema.md"
NAMES = {"en": ("title", "text"), "zh": ("标题", "说明")}


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
    built = ("unit.", "verdict.", "headline.", "fp32.", "staircase.", "memory.", "provenance.", "limits.")
    assert {key for key in keys if key not in direct and not key.startswith(built)} == set()
    used = set(re.findall(r'(?:\bt|label|text)\("([a-z0-9]+\.[a-z0-9_]+)"', code))
    assert used - keys == set()


def test_values_are_escaped_in_labels() -> None:
    assert "&lt;b&gt;" in labels.label("hardware.lane", lane="<b>")
    assert labels.text("hardware.lane", "zh", lane="<b>") == "镜像通道 <b>"


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
        half = len(text) * 0.0078 / 2
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


def test_what_lies_above_the_band_on_the_way_to_a_good_output_is_not_painted_as_a_fault() -> None:
    (good, bad) = candidate_charts({"modules": {"a": [module(nu=9.0), module()], "b": [module(nu=9.0)]}}, 1.5, "c")
    assert good.ends_inside
    assert not bad.ends_inside


def test_a_few_very_small_errors_do_not_make_the_scale_logarithmic() -> None:
    drawn = heights(draw(staircase([1e-4, 1.0, 1.5, 2.0]), "c", NAMES))
    assert drawn[3] - drawn[2] == pytest.approx(drawn[2] - drawn[1], abs=0.05)


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


def validator(name: str) -> Draft202012Validator:
    registry: Registry[Any] = Registry().with_resources((s["$id"], Resource.from_contents(s)) for s in SCHEMAS.values())
    return Draft202012Validator(SCHEMAS[name], registry=registry)


def sample(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESOURCES / f"results_{name}.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_each_schema_is_a_schema(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[name])


@pytest.mark.parametrize("path", sorted(RESOURCES.glob("results_*.json")), ids=lambda path: path.stem)
def test_every_sample_follows_its_schema(path: Path) -> None:
    results = json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    validator("results").validate(results)
    for verified in results["verify"].values():
        validator("verify").validate(verified)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema",), "gpulab/results/v2"),
        (("verdict",), "pass"),
        (("exit_code",), 4),
        (("revision",), "main"),
        (("ref",), "refs/heads/$(TOKEN)"),
        (("gates", 0, "verdict"), "MAYBE"),
        (("gates", 0, "surprise"), 1),
        (("gates", 3, "shape"), [4, -1]),
        (("verify", "cpu", "verdict"), "NOT APPLICABLE"),
        (("verify", "cpu", "modules", "float16", 0, "nonfinite"), -1),
        (("verify", "cpu", "census", "float16", "gemm"), {"float16": "many"}),
        (("plan", "hardware", 0, "dtypes"), {"float16": "fast"}),
        (("image", "digest"), "sha256:latest"),
    ],
    ids=str,
)
def test_a_schema_refuses_what_it_should(path: tuple[Any, ...], value: Any) -> None:
    results: Any = sample("passing")
    parent = results
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = value
    with pytest.raises(ValidationError):
        validator("results").validate(results)


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_the_document_names_every_key_of_the_schemas(name: str) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")

    def keys(schema: Any) -> set[str]:
        if isinstance(schema, list):
            return set().union(*(keys(item) for item in schema)) if schema else set()
        if not isinstance(schema, dict):
            return set()
        own = set(schema["properties"]) if isinstance(schema.get("properties"), dict) else set()
        return own.union(*(keys(item) for item in schema.values()))

    assert {key for key in keys(SCHEMAS[name]) if f"`{key}`" not in text} == set()


def test_the_samples_are_what_their_maker_writes(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("make_samples", RESOURCES / "make_samples.py")
    assert spec
    assert spec.loader
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    maker.main(tmp_path)
    for path in sorted(RESOURCES.glob("results_*.json")):
        assert (tmp_path / path.name).read_text() == path.read_text(), f"run python {RESOURCES / 'make_samples.py'}"
    assert len(list(tmp_path.iterdir())) == len(list(RESOURCES.glob("results_*.json"))) == 9
