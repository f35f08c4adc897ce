"""A staircase with its picture, its table and its summary, for float32 and for every candidate."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from model_tests.report.labels import LANGUAGES, label, text
from model_tests.report.marks import Mark, mark
from model_tests.report.numbers import MISSING, as_float, number, shape
from model_tests.report.runs import runs
from model_tests.report.staircase import Staircase, draw
from model_tests.report.tidy import line, mapping, rows

MAX_MODULES = 1000
MAX_MEASURES = 24


@dataclass(frozen=True)
class ModuleRow:
    """One module as the table beside a chart shows it; `state` is "inside", "over", "broken" or "unknown"."""

    name: str
    kind: str
    shape: str
    nu: str
    floor: str
    ratio: str
    max_abs: str
    nonfinite: str
    state: str


@dataclass(frozen=True)
class Chart:
    """A staircase ready for the page; `prefix` makes its ids unique there and `bound` is "" when there is none."""

    name: str
    prefix: str
    svg: str
    title: Markup
    description: Markup
    allowed: Markup
    relative: bool
    modules: Sequence[ModuleRow]
    omitted: int
    bound: str
    mark: Mark | None
    measures: Sequence[tuple[str, str]]

    @property
    def ends_inside(self) -> bool:
        """Whether the last output is allowed: what lies above the band before it is then no fault."""
        return self.modules[-1].state == "inside"

    def has(self, state: str) -> bool:
        """Whether a module is in `state`."""
        return any(module.state == state for module in self.modules)


def candidate_charts(verify: Mapping[str, Any], bound: float, prefix: str) -> list[Chart]:
    """Return a chart per candidate that has modules, with the measures of its precision gate.

    `bound` times the floor is allowed; a gate's own bound may be that of another measure (KL, worst row).
    """
    gates = {line(gate.get("name")): gate for gate in rows(verify.get("gates"))}
    found = [
        _chart("staircase", name, f"{prefix}-{index}", rows(modules), bound, gates)
        for index, (name, modules) in enumerate(runs(verify.get("modules")))
    ]
    return [chart for chart in found if chart]


def fp32_chart(verify: Mapping[str, Any], prefix: str) -> Chart | None:
    """Return the chart of float32 against float64, None when no module was measured."""
    proof = mapping(verify.get("fp32"))
    return _chart("fp32", "float32", f"{prefix}-fp32", rows(proof.get("modules")), as_float(proof.get("bound")), {})


def _chart(
    kind: str,
    name: str,
    prefix: str,
    modules: Sequence[Mapping[str, Any]],
    bound: float,
    gates: Mapping[str, Mapping[str, Any]],
) -> Chart | None:
    """A chart of `kind` "staircase" (the bound multiplies each floor) or "fp32" (the bound is a ν)."""
    if not modules:
        return None
    shown, relative = modules[:MAX_MODULES], kind == "staircase"
    staircase = _staircase(shown, bound, relative)
    table = [_row(module, staircase.state(index)) for index, module in enumerate(shown)]
    values = _described(name, table, number(bound))
    return Chart(
        name=name,
        prefix=prefix,
        svg=draw(staircase, prefix, {language: _names(kind, language, values) for language in LANGUAGES}),
        title=label(f"{kind}.chart", **values),
        description=label(f"{kind}.describe", **values),
        allowed=label(f"{kind}.allowed", **values),
        relative=relative,
        modules=table,
        omitted=len(modules) - len(shown),
        bound=number(bound) if math.isfinite(bound) else "",
        mark=_worst(gates.get(f"{gate}/{name}") for gate in ("census", "finite", "precision")),
        measures=_measures(mapping(gates.get(f"precision/{name}", {}).get("params"))),
    )


def _worst(gates: Iterable[Mapping[str, Any] | None]) -> Mark | None:
    """The verdict that says most about a candidate, None without gates."""
    verdicts = [line(gate.get("verdict")) for gate in gates if gate]
    return next((mark(verdict) for verdict in ("FAIL", "INCONCLUSIVE", "PASS") if verdict in verdicts), None)


def _staircase(modules: Sequence[Mapping[str, Any]], bound: float, relative: bool) -> Staircase:
    floor = [as_float(module.get("floor")) if relative else math.nan for module in modules]
    return Staircase(
        names=[line(module.get("name")) or MISSING for module in modules],
        measured=[as_float(module.get("nu")) for module in modules],
        floor=floor,
        allowed=[value * bound for value in floor] if relative else [bound] * len(modules),
        broken=[_broken(module) for module in modules],
    )


def _described(name: str, table: Sequence[ModuleRow], bound: str) -> dict[str, str]:
    counts = {state: str(sum(row.state == state for row in table)) for state in ("over", "broken", "unknown")}
    last = table[-1]
    output = {"nu": last.nu, "floor": last.floor, "ratio": last.ratio}
    return {"candidate": name, "count": str(len(table)), "bound": bound, **output, **counts}


def _names(kind: str, language: str, values: Mapping[str, str]) -> tuple[str, str]:
    return text(f"{kind}.chart", language, **values), text(f"{kind}.describe", language, **values)


def _broken(module: Mapping[str, Any]) -> bool:
    """Whether ν does not exist because of values that are not finite; a mask's -inf in a measured output is none."""
    nu = module.get("nu")
    if nu is None:
        return as_float(module.get("nonfinite")) > 0
    return isinstance(nu, float) and not math.isfinite(nu)


def _row(module: Mapping[str, Any], state: str) -> ModuleRow:
    return ModuleRow(
        name=line(module.get("name")) or MISSING,
        kind=line(module.get("kind")),
        shape=shape(module.get("shape")),
        nu=number(module.get("nu")),
        floor=number(module.get("floor")),
        ratio=number(module.get("ratio")),
        max_abs=number(module.get("max_abs")),
        nonfinite=number(module.get("nonfinite")),
        state=state,
    )


def _measures(params: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The numbers behind a gate, without those that stand in the table of gates."""
    found = {name: value for name, value in params.items() if name not in {"value", "bound"}}
    return [(name, number(value)) for name, value in found.items() if math.isfinite(as_float(value))][:MAX_MEASURES]
