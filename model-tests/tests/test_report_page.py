"""The report as a reader, a screen reader and an attacker meet it."""

import copy
import json
import math
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model_tests.report import render
from model_tests.report.numbers import number

RESOURCES = Path(__file__).parent / "resources"
SAMPLES = sorted(path.stem.removeprefix("results_") for path in RESOURCES.glob("results_*.json"))
VOID = {"meta", "br", "input"}
ACTIVE = {
    "script",
    "link",
    "iframe",
    "object",
    "embed",
    "img",
    "image",
    "audio",
    "video",
    "base",
    "form",
    "foreignobject",
}
CJK = re.compile("[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")


class Page(HTMLParser):
    """A strict reader: remembers elements and text, and fails on an element that is not closed where it should be."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.stack: list[tuple[str, dict[str, str]]] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[str, list[tuple[str, dict[str, str]]]]] = []
        self.feed(html)
        self.close()
        assert self.stack == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"twice the same attribute on {tag}: {names}"
        element = (tag, {name: value or "" for name, value in attrs})
        self.elements.append(element)
        if tag not in VOID:
            self.stack.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.stack, f"</{tag}> closes nothing"
        assert self.stack.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((data, list(self.stack)))

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.elements)

    def text(self, hidden: str = "", inside: Callable[[str, dict[str, str]], bool] | None = None) -> str:
        """The text outside <style>, without what stands in the language `hidden`."""
        return "".join(
            data
            for data, stack in self.texts
            if not any(tag == "style" or attributes.get("lang") == hidden for tag, attributes in stack)
            and (inside is None or any(inside(*element) for element in stack))
        )

    def rows(self, table: str) -> list[list[str]]:
        """The English cells of each row of the table with this id."""
        found: dict[int, dict[int, str]] = {}
        for data, stack in self.texts:
            inside = any(attributes.get("id") == table for _, attributes in stack)
            if inside and not any(attributes.get("lang") == "zh" for _, attributes in stack):
                row = next((id(element) for element in stack if element[0] == "tr"), None)
                cell = next((id(element) for element in stack if element[0] in {"td", "th"}), None)
                if row is not None and cell is not None:
                    cells = found.setdefault(row, {})
                    cells[cell] = cells.get(cell, "") + data
        return [[squeezed(text) for text in cells.values()] for cells in found.values()]


def load(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESOURCES / f"results_{name}.json").read_text(encoding="utf-8"))
    return found


@cache
def html_of(name: str) -> str:
    return render(load(name))


@cache
def page_of(name: str) -> Page:
    return Page(html_of(name))


def section(name: str) -> Callable[[str, dict[str, str]], bool]:
    return lambda tag, attributes: tag == "section" and attributes.get("id") == name


def squeezed(text: str) -> str:
    return " ".join(text.split())


def changed(value: Any, text: Callable[[str], Any], number: Callable[[Any], Any], key: str = "") -> Any:
    """`value` with every string (but schema names), key of an open mapping and number replaced."""
    if isinstance(value, dict):
        opened = key in {
            "verify",
            "modules",
            "census",
            "timing",
            "gemm",
            "parameters",
            "buffers",
            "environment",
            "params",
        }
        return {(text(k) if opened else k): changed(v, text, number, k) for k, v in value.items()}
    if isinstance(value, list):
        return [changed(item, text, number, "") for item in value]
    if isinstance(value, str):
        return text(value)
    return number(value)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_element_is_closed_and_every_reference_has_its_target(name: str) -> None:
    page = page_of(name)
    ids = Counter(attributes["id"] for _, attributes in page.elements if "id" in attributes)
    assert [key for key, count in ids.items() if count > 1] == []
    used = {
        value.removeprefix("#").removeprefix("url(#").removesuffix(")")
        for _, attributes in page.elements
        for key in ("href", "for", "aria-labelledby", "aria-describedby", "clip-path")
        for value in [attributes.get(key, "")]
        if value
    }
    assert used <= set(ids)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_page_runs_nothing_and_loads_nothing(name: str) -> None:
    html, page = html_of(name), page_of(name)
    assert {tag for tag, _ in page.elements} & ACTIVE == set()
    for tag, attributes in page.elements:
        assert [
            key for key in attributes if key.startswith("on") or key in {"src", "srcset", "action", "ping"}
        ] == [], tag
        assert attributes.get("href", "#").startswith("#")
        assert "refresh" not in attributes.get("http-equiv", "")
        assert re.findall(r"url\((?!#)|https?:|data:|javascript:", " ".join(attributes.values())) == []
    style = "".join(data for data, stack in page.texts if stack and stack[-1][0] == "style")
    assert re.findall(r"url\(|@import|expression|https?:", style) == []
    assert html.count("<style") == 1


@pytest.mark.parametrize("name", SAMPLES)
def test_the_verdict_comes_before_everything_else(name: str) -> None:
    results, page = load(name), page_of(name)
    heads = [squeezed("".join(d for d, s in page.texts if any(e is stack for e in s))) for stack in
             [element for element in page.elements if element[0] in {"h1", "h2"}]]  # fmt: skip
    words = {"PASS": "Pass", "FAIL": "Fail", "INCONCLUSIVE": "Inconclusive"}
    assert heads[0].startswith(words[results["verdict"]])
    first = squeezed(page.text(inside=lambda tag, _: tag == "main"))[:120]
    assert words[results["verdict"]] in first
    if results["verdict"] != "PASS":
        assert heads[1].startswith("Why, and what to change")


@pytest.mark.parametrize("name", SAMPLES)
def test_every_gate_is_named_with_its_verdict(name: str) -> None:
    results = load(name)
    table = squeezed(page_of(name).text("zh", section("gates")))
    words = {"PASS": "Pass", "FAIL": "Fail", "INCONCLUSIVE": "Inconclusive", "NOT APPLICABLE": "Not applicable"}
    position = 0
    for gate in results["gates"]:
        row = f"{gate['name']} {words[gate['verdict']]}"
        assert row in table[position:], row
        position = table.index(row, position)


@pytest.mark.parametrize("name", [name for name in SAMPLES if name != "passing"])
def test_what_did_not_pass_is_explained_with_number_bound_module_and_shape(name: str) -> None:
    results = load(name)
    html = html_of(name)
    english = squeezed(page_of(name).text("zh", section("why")))
    assert html.index('id="why"') < html.index('id="gates"')
    open_gates = [gate for gate in results["gates"] if gate["verdict"] in {"FAIL", "INCONCLUSIVE"}]
    assert open_gates
    for gate in open_gates:
        assert gate["name"] in english
        assert gate["module"] is None or gate["module"] in english
        assert gate["shape"] is None or " × ".join(map(str, gate["shape"])) in english
    assert "What to change" in english


def test_a_gate_whose_key_is_not_known_speaks_with_its_own_words() -> None:
    results = load("precision")
    for gate in results["gates"]:
        gate |= {"key": "no.such.key", "why": "WHY <b>it</b>", "change": "CHANGE & go"}
    text = Page(render(results)).text(inside=section("why"))
    assert "WHY <b>it</b>" in text
    assert "CHANGE & go" in text


@pytest.mark.parametrize("name", SAMPLES)
def test_the_english_page_has_no_chinese_and_the_chinese_page_has_every_word(name: str) -> None:
    page = page_of(name)
    assert CJK.findall(page.text(hidden="zh", inside=lambda tag, _: tag == "main")) == []
    spans = Counter(attributes.get("lang") for tag, attributes in page.elements if tag == "span")
    assert spans["en"] == spans["zh"] > 20
    chinese = page.text(hidden="en", inside=lambda tag, _: tag in {"h1", "h2", "h4", "summary", "figcaption"})
    words = re.findall(r"[A-Za-z]{4,}", chinese)
    assert set(words) <= {"float", "bfloat", "autocast", "Pass", "Lab"}, words


def test_english_is_shown_first_and_the_switch_is_a_pair_of_radio_buttons_before_the_page() -> None:
    html = html_of("passing")
    switches = [attributes for tag, attributes in Page(html).elements if tag == "input"]
    assert [(s["type"], s["id"], "checked" in s) for s in switches] == [
        ("radio", "show-en", True),
        ("radio", "show-zh", False),
    ]
    assert html.index('id="show-zh"') < html.index("<main")
    assert '#show-zh:checked ~ main [lang="zh"]' in html


@pytest.mark.parametrize("name", ["passing", "nan"])
def test_the_same_results_give_the_same_bytes_on_any_machine(name: str, tmp_path: Path) -> None:
    (tmp_path / "matplotlibrc").write_text("svg.hashsalt: other\nfont.size: 20\naxes.grid: True\nsvg.fonttype: path\n")
    code = (
        "import json, sys; from pathlib import Path; from model_tests.report import render;"
        "sys.stdout.buffer.write(render(json.loads(Path(sys.argv[1]).read_text())).encode())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "1", "MATPLOTLIBRC": str(tmp_path), "TZ": "Asia/Shanghai"}
    command = [sys.executable, "-c", code, str(RESOURCES / f"results_{name}.json")]
    other = subprocess.run(command, env=environment, capture_output=True, check=True).stdout.decode()
    assert html_of(name) == other


PAYLOADS = [
    '"><script>alert(1)</script>',
    "' onmouseover='alert(1)",
    "</style></title></svg><script>alert(1)</script>",
    "<!-- --><![CDATA[ ]]><?xml?>",
    '<img src="https://evil.example/x.png">',
    "{{ 7*7 }}{% raw %}{0.__class__}",
    r"$\frac{1}{0}$ $x \undefined_{",
    "‮gnp.exe مرحبا 👩‍🔬 模型",
    "a\x00b\x1b[31m\ud800\uffff\u2028c",
    "x" * 100_000,
    "",
    "\n\n\t ",
]


@pytest.mark.parametrize("keep_verdicts", [True, False])
@pytest.mark.parametrize("payload", PAYLOADS, ids=range(len(PAYLOADS)))
def test_text_from_a_project_stays_text(payload: str, keep_verdicts: bool) -> None:
    results = small(charts=True)
    kept = {"PASS", "FAIL", "INCONCLUSIVE", "NOT APPLICABLE"} if keep_verdicts else set()
    count = iter(range(10**6))

    def hostile(text: str) -> str:
        return text if text in kept else f"{next(count)}{payload}"

    html = render(changed(results, hostile, lambda value: value))
    page = Page(html)
    assert html.encode("utf-8")
    assert {tag for tag, _ in page.elements} & ACTIVE == set()
    assert [key for _, attributes in page.elements for key in attributes if key.startswith("on")] == []
    plain = Page(
        render(changed(results, lambda text: text if text in kept else f"{next(count)}name", lambda value: value))
    )
    for tag in ("section", "tr", "td", "th", "figure", "svg", "style", "dl", "article", "pre", "details"):
        assert page.count(tag) == plain.count(tag), tag
    assert len(html) < 30_000_000


def test_a_hostile_name_is_shown_as_it_is_written() -> None:
    results = load("passing")
    name = "<script>alert('$x^2$')</script>"
    results["verify"]["cpu"]["modules"]["float16"][5]["name"] = name
    results["project"]["name"] = "{{ 7*7 }}"
    page = Page(render(results))
    assert name in page.text()
    assert "{{ 7*7 }}" in page.text()
    assert "49" not in "".join(data for data, stack in page.texts if stack and stack[-1][0] == "title")


def test_text_that_changes_direction_cannot_reach_its_neighbours() -> None:
    results = load("overflow")
    results["project"]["name"] = "abc\u202egnp.exe\u2066"
    html = render(results)
    assert re.findall("[\u202a-\u202e\u2066-\u2069]", html) == []
    stray = [
        data
        for data, stack in Page(html).texts
        if "gnp.exe" in data and not {"bdi", "title"} & {tag for tag, _ in stack}
    ]
    assert stray == []


NUMBERS: list[Any] = [
    math.nan,
    math.inf,
    -math.inf,
    None,
    0,
    -1,
    -0.0,
    1e-300,
    1e300,
    10**400,
    -(10**400),
    True,
    "text",
    [],
    {},
    [1, [2]],
]


@pytest.mark.parametrize("number", NUMBERS, ids=range(len(NUMBERS)))
def test_no_number_breaks_the_page(number: Any) -> None:
    page = Page(render(changed(small(charts=True), lambda text: text, lambda value: copy.deepcopy(number))))
    assert page.count("figure") == 2
    assert "layers.1.feed_forward" in page.text()


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every mapping entry and of every first list item."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield (*path, key)
            yield from places(item, (*path, key))
    elif isinstance(value, list) and value:
        yield from places(value[0], (*path, 0))


def small(charts: bool) -> dict[str, Any]:
    """The failing sample with little in each list, so that many variants render quickly."""
    results = load("overflow")
    verify = results["verify"]["cpu"]
    verify["modules"] = {"float16": verify["modules"]["float16"][21:24]} if charts else {}
    verify["fp32"]["modules"] = verify["fp32"]["modules"][:2] if charts else []
    for part in ("census", "timing"):
        verify[part] = {"float16": verify[part]["float16"]}
    results["gates"], verify["gates"] = results["gates"][7:9], verify["gates"][4:6]
    results["plan"]["hardware"] = results["plan"]["hardware"][1:2]
    return results


@pytest.mark.parametrize("path", sorted(places(small(True)), key=str), ids=lambda path: ".".join(map(str, path)))
def test_a_part_that_is_missing_or_of_another_type_leaves_the_rest(path: tuple[Any, ...]) -> None:
    for stand_in in (..., None, "text", [None, 1, "x"], {"x": None}):
        results = small(charts=bool({"modules", "fp32"} & set(path)))
        parent: Any = results
        for key in path[:-1]:
            parent = parent[key]
        if stand_in is ...:
            del parent[path[-1]]
        else:
            parent[path[-1]] = stand_in
        text = Page(render(results)).text()
        assert "What this report cannot tell" in text
        assert path[0] == "project" or "GPU Lab 1" in text


def test_nothing_at_all_still_makes_a_page_without_a_verdict() -> None:
    text = Page(render({})).text("zh")
    assert "No verdict" in text
    assert "No gate was reached" in text


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=8), children, max_size=3),
    max_leaves=8,
)
_keys = st.sampled_from(
    ["gates", "verify", "tests", "image", "plan", "project", "provenance", "verdict", "exit_code", "summary"]
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(_keys, _values, max_size=6))
def test_any_json_makes_a_well_formed_page(results: dict[str, Any]) -> None:
    Page(render(results))


def shown(value: Any) -> str:
    """A cell as the table must show it."""
    if isinstance(value, list):
        return " × ".join(map(str, value))
    return "–" if value is None else value if isinstance(value, str) else number(value)


def many(count: int) -> dict[str, Any]:
    results = load("passing")
    rows = results["verify"]["cpu"]["modules"]["float16"]
    blown = [{**rows[index % len(rows)], "name": f"layers.{index // 12}.part{index}"} for index in range(count)]
    results["verify"]["cpu"]["modules"] = {"float16": blown}
    return results


def test_five_hundred_modules_are_all_there_in_seconds() -> None:
    start = time.monotonic()
    html = render(many(500))
    assert time.monotonic() - start < 20
    assert all(f"layers.{index // 12}.part{index}<" in html for index in range(500))


def test_beyond_a_thousand_modules_the_page_says_how_many_are_left_out() -> None:
    text = squeezed(Page(render(many(1203))).text("zh"))
    assert "203 more rows are in results.json" in text


@pytest.mark.parametrize("name", SAMPLES)
def test_every_chart_has_a_name_a_description_and_a_table_with_its_numbers(name: str) -> None:
    results, page = load(name), page_of(name)
    charts = [attributes for tag, attributes in page.elements if tag == "svg" and attributes.get("role") == "img"]
    verified = results["verify"].get("cpu", {"modules": {}})
    expected = [*verified["modules"].values(), *([verified["fp32"]["modules"]] if verified.get("fp32") else [])]
    assert len(charts) == page.count("figure")
    charts = [chart for chart in charts if not chart["aria-labelledby"].endswith("-speed-title")]
    assert len(charts) == len(expected)
    for chart, modules in zip(charts, expected, strict=True):
        prefix = chart["aria-labelledby"].removesuffix("-title")
        assert squeezed(page.text("zh", lambda _, a, p=prefix: a.get("id") == f"{p}-title")).startswith("Error of ")  # type: ignore[misc]
        description = squeezed(page.text("zh", lambda _, a, p=prefix: a.get("id") == f"{p}-desc"))  # type: ignore[misc]
        assert description.startswith(f"{len(modules)} modules.")
        head, *table = page.rows(f"{prefix}-table")
        keys = ["name", "kind", "shape", "nu", "floor", "ratio", "max_abs", "nonfinite"]
        for row, module in zip(table, modules, strict=True):
            assert row[: len(head) - 1] == [shown(module[key]) for key in keys[: len(head) - 1]]


def test_a_module_above_its_bound_is_marked_by_a_sign_and_by_words() -> None:
    page = page_of("precision")
    table = page.text("zh", lambda _, a: a.get("id") == "a0-0-table")
    assert table.count("◆ above the band") == 29
    assert "within" in table


def test_every_verdict_has_a_shape_of_its_own_beside_its_word() -> None:
    html = html_of("inconclusive")
    shapes = {
        name: re.search(rf'<symbol id="icon-{name}".*?</symbol>', html, re.DOTALL)
        for name in ("pass", "fail", "open", "none")
    }
    assert all(shapes.values())
    assert len({found.group(0) for found in shapes.values() if found}) == 4
    for css, word in (("pass", "Pass"), ("open", "Inconclusive"), ("none", "Not applicable")):
        assert re.search(
            rf'class="verdict {css}"><svg[^>]*><use href="#icon-{css}"/></svg> <span lang="en">{word}<', html
        )


def luminance(colour: str) -> float:
    channels = [int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_the_contrast_that_wcag_asks_for(scheme: str) -> None:
    style = render({}).split("<style>")[1].split("</style>")[0]
    light, dark = (re.findall(r"--([a-z]+): (#[0-9a-f]{6})", part) for part in style.split("@media")[:2])
    colours = dict(light) | (dict(dark) if scheme == "dark" else {})
    for text in ("ink", "muted", "pass", "fail", "open", "none", "model"):
        for ground in ("page", "paper"):
            pair = sorted((luminance(colours[text]), luminance(colours[ground])))
            assert (pair[1] + 0.05) / (pair[0] + 0.05) >= 4.5, (text, ground)


def test_the_page_is_made_for_phones_for_the_dark_and_for_paper() -> None:
    html = render({})
    assert 'name="viewport" content="width=device-width' in html
    for query in ("(prefers-color-scheme: dark)", "print", "(max-width:"):
        assert f"@media {query}" in html


def test_provenance_and_the_command_to_reproduce_are_there() -> None:
    results = load("passing")
    text = squeezed(Page(render(results)).text("zh"))
    for value in (results["revision"], results["ref"], results["run"], results["image"]["digest"], "20261130", "lab-7"):
        assert value in text
    for value in ("torch 2.15.0", "threads 1", "tf32 off", "AMD EPYC 7B13", "gpulab 0.1.0"):
        assert value in text
    assert results["reproduce"] in text


def test_timing_is_shown_and_called_information() -> None:
    text = squeezed(page_of("passing").text("zh"))
    assert "Timing, for information only" in text
    assert "float163.1 ms" not in text
    assert "13.4 ms" in text


def test_layers_left_in_float32_are_listed_with_the_census() -> None:
    text = squeezed(page_of("fp32_layer").text("zh"))
    assert "34 float16, 3 float32" in text
    assert text.count("◆ layers.1.feed_forward.up gemm: float32") == 2


def test_failed_tests_are_listed_with_their_message() -> None:
    results = load("passing")
    results["tests"] = {
        "total": 3,
        "failed": 1,
        "skipped": 0,
        "failures": [{"name": "test_x", "message": "E  a\n   b < c"}],
    }
    page = Page(render(results))
    assert "3 tests: 2 passed, 1 failed, 0 skipped." in page.text("zh")
    assert "E  a\n   b < c" in page.text()


def test_the_hardware_card_says_what_fits_and_what_is_emulated() -> None:
    text = squeezed(page_of("passing").text("zh", section("hardware")))
    for words in ("NVIDIA T4", "has 15 GiB", "image lane legacy", "emulated, slow", "fits", "CUDA 12.6"):
        assert words in text


@pytest.mark.parametrize(
    ("change", "sentence", "shown"),
    [
        ({}, "This run used the local engine", True),
        ({"engine": "argo"}, "This run used the local engine", False),
        ({}, "A source artifact was judged", True),
        ({"image": {"kind": "image"}}, "A source artifact was judged", False),
        ({}, "Without a course reference", False),
        ({"verify": {"cpu": {"fp32": {"mode": "self-consistency"}}}}, "Without a course reference", True),
        ({}, "can forge them", True),
    ],
)
def test_the_limits_are_those_of_this_run(change: dict[str, Any], sentence: str, shown: bool) -> None:
    text = squeezed(Page(render(load("passing") | change)).text("zh", section("limits")))
    assert (sentence in text) is shown


@pytest.mark.parametrize(
    ("code", "words"),
    [(2, "stopped at what was pushed"), (3, "The platform failed, not your code"), (1, "2 of 16 gates failed")],
)
def test_the_headline_says_whose_move_it_is(code: int, words: str) -> None:
    assert words in Page(render(load("overflow") | {"exit_code": code})).text("zh")


def test_an_inconclusive_run_costs_nothing_and_says_so() -> None:
    text = page_of("inconclusive").text("zh")
    assert "This costs you nothing: run it again." in text


def test_two_accelerators_are_told_apart() -> None:
    results = load("overflow")
    results["verify"]["t4"] = results["verify"]["cpu"] | {"accelerator": "t4"}
    results["gates"] += [gate | {"accelerator": "t4"} for gate in results["gates"] if "accelerator" in gate]
    page = Page(render(results))
    assert page.count("figure") == 10
    assert "finite/float16 · t4" in squeezed(page.text("zh", section("why")))
    assert "finite/float16 · cpu" in squeezed(page.text("zh", section("why")))
