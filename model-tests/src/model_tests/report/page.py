"""From results to one static HTML page."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from model_tests.precision.bounds import ratio_bound
from model_tests.report import origin, sections
from model_tests.report.charts import Chart, candidate_charts, fp32_chart
from model_tests.report.gates import GateRow, failures, gate_rows
from model_tests.report.int8 import Int8Row, int8_rows
from model_tests.report.labels import label
from model_tests.report.marks import mark
from model_tests.report.numbers import as_float, number
from model_tests.report.speed import SpeedPart, speed_part
from model_tests.report.tidy import line, mapping, rows, tidy

_HEADLINES = {"PASS": "pass", "FAIL": "fail", "INCONCLUSIVE": "inconclusive"}
_BY_EXIT_CODE = {2: "input", 3: "platform"}


@dataclass(frozen=True)
class AcceleratorPart:
    """What one accelerator measured."""

    name: str
    prefix: str
    fp32: Chart | None
    fp32_mode: str
    charts: Sequence[Chart]
    census: Sequence[sections.CensusRow]
    speed: SpeedPart | None
    timing: Sequence[tuple[str, str, str, str]]
    memory: Markup | None
    int8: Sequence[Int8Row]
    facts: Sequence[origin.Fact]


def render(results: Mapping[str, Any]) -> str:
    """Return the report of a "gpulab/results/v1" mapping as HTML: no scripts, nothing loaded, the same bytes each time.

    Every value is treated as untrusted data, and sections that are missing or malformed are left out, so that a run
    that broke early still has a page.
    """
    found = mapping(tidy(results))
    return _environment().get_template("report.html.j2").render(**_context(found))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("model_tests.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = files("model_tests.report").joinpath("templates/style.css").read_text(encoding="utf-8")
    environment.globals.update(t=label, style=Markup(style))  # noqa: S704 - our own style sheet
    return environment


def _context(results: Mapping[str, Any]) -> dict[str, Any]:
    gates = gate_rows(results)
    tests = mapping(results.get("tests"))
    plan = mapping(results.get("plan"))
    verified = mapping(results.get("verify"))
    return {
        "mark": mark(results.get("verdict")),
        "headline": _headline(results, gates),
        "summary": line(results.get("summary")),
        "exit_code": number(results.get("exit_code")),
        "project": _project(results),
        "commit": line(results.get("revision"))[:12],
        "ref": line(results.get("ref")).removeprefix("refs/heads/"),
        "finished": line(mapping(results.get("provenance")).get("finished")),
        "author": line(mapping(results.get("project")).get("author")),
        "failures": failures(gates),
        "gates": gates,
        "parts": [
            _part(line(name), mapping(part), _ratio_bound(line(name), plan), f"a{index}")
            for index, (name, part) in enumerate(verified.items())
        ],
        "tests": _tests(tests) if tests else None,
        "hardware": sections.hardware_rows(plan),
        "memory": sections.memory_rows(mapping(plan.get("spec"))),
        "facts": origin.origin_facts(results),
        "reproduce": line(results.get("reproduce")),
        "limits": origin.limits(results),
    }


def _project(results: Mapping[str, Any]) -> str:
    project = mapping(results.get("project"))
    return line(project.get("name")) or line(project.get("slug")) or line(results.get("run")) or "gpulab"


def _headline(results: Mapping[str, Any], gates: Sequence[GateRow]) -> Markup:
    verdict, code = line(results.get("verdict")), results.get("exit_code")
    name = _HEADLINES.get(verdict, "unknown")
    if verdict != "PASS" and isinstance(code, int):
        name = _BY_EXIT_CODE.get(code, name)
    applied = [gate for gate in gates if gate.mark.verdict != "NOT APPLICABLE"]
    failed = sum(gate.mark.verdict == "FAIL" for gate in applied)
    return label(f"headline.{name}", failed=failed, total=len(applied))


def _ratio_bound(accelerator: str, plan: Mapping[str, Any]) -> float:
    """The bound of ν over its floor that the judge used: the platform's, or the project's if that is tighter."""
    asked = as_float(mapping(plan.get("spec")).get("max_ratio"))
    return ratio_bound(accelerator, asked if math.isfinite(asked) else None)


def _part(name: str, verify: Mapping[str, Any], bound: float, prefix: str) -> AcceleratorPart:
    return AcceleratorPart(
        name=name,
        prefix=prefix,
        fp32=fp32_chart(verify, prefix),
        fp32_mode="reference" if mapping(verify.get("fp32")).get("mode") == "reference" else "self",
        charts=candidate_charts(verify, bound, prefix),
        census=sections.census_rows(verify),
        speed=speed_part(verify, prefix),
        timing=sections.timing_rows(verify),
        memory=sections.measured_memory(verify, name),
        int8=int8_rows(verify),
        facts=origin.device_facts(verify, name),
    )


def _tests(tests: Mapping[str, Any]) -> dict[str, Any]:
    total, failed, skipped = (as_float(tests.get(key)) for key in ("total", "failed", "skipped"))
    counts = {"total": total, "failed": failed, "skipped": skipped, "passed": total - failed - skipped}
    listed = rows(tests.get("failures"))[: sections.MAX_ROWS]
    return {
        "counts": label("tests.counts", **{key: number(value) for key, value in counts.items()}),
        "failures": [(line(item.get("name")), str(item.get("message") or "")) for item in listed],
    }
