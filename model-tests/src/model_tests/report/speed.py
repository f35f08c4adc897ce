"""The speed of a run against its baselines: intervals beside what is allowed, and a table of the times."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup
from matplotlib.axes import Axes

from model_tests.report.figure import picture
from model_tests.report.labels import LANGUAGES, label, text
from model_tests.report.marks import Mark, mark
from model_tests.report.numbers import MISSING, as_float, number
from model_tests.report.palette import ALLOWED, FAIL, FLOOR, MODEL, MUTED, RULE
from model_tests.report.tidy import line, mapping, rows

CANDIDATE, AGAIN = "candidate", "again"
A_A = "A/A"
_WIDTH, _ROW, _MARGIN = 9.6, 0.34, 0.62  # inches


@dataclass(frozen=True)
class Bar:
    """One interval of a ratio of times; A/A is the candidate against itself."""

    name: str
    ratio: float
    low: float
    high: float
    a_a: bool = False


@dataclass(frozen=True)
class SideRow:
    """One side as text: latencies in milliseconds, `ratio` and `between` of the candidate's time to its."""

    name: str
    commit: str
    median: str
    p90: str
    count: str
    ratio: str
    between: str
    mark: Mark | None


@dataclass(frozen=True)
class SpeedPart:
    """What the page shows; `svg` is "" when no interval was found."""

    prefix: str
    svg: str
    title: Markup
    description: Markup
    allowed: Markup
    sides: Sequence[SideRow]


def speed_part(verify: Mapping[str, Any], prefix: str) -> SpeedPart | None:
    """Return the section about speed of one accelerator, None when nothing was timed."""
    speed = mapping(verify.get("speed"))
    sides = mapping(speed.get("sides"))
    if not sides:
        return None
    bound = as_float(speed.get("bound"))
    bars = _bars(mapping(speed.get("comparisons")))
    values = {"bound": number(bound), "rounds": number(speed.get("rounds")), "dtype": line(speed.get("dtype"))}
    prefix = f"{prefix}-speed"
    names = {one: (text("speed.chart", one, **values), text("speed.describe", one, **values)) for one in LANGUAGES}
    return SpeedPart(
        prefix=prefix,
        svg=draw(bars, bound, prefix, names) if bars and math.isfinite(bound) else "",
        title=label("speed.chart", **values),
        description=label("speed.describe", **values),
        allowed=label("speed.allowed", **values),
        sides=_sides(sides, mapping(speed.get("comparisons")), rows(verify.get("gates"))),
    )


def _bars(comparisons: Mapping[str, Any]) -> list[Bar]:
    """One bar per baseline, and the A/A, which is the same for all."""
    found = [_bar(name, mapping(mapping(row).get("ratio"))) for name, row in comparisons.items()]
    again = [_bar(A_A, mapping(mapping(row).get("a_a")), a_a=True) for row in comparisons.values()][:1]
    return [bar for bar in (*found, *again) if bar is not None]


def _bar(name: str, row: Mapping[str, Any], a_a: bool = False) -> Bar | None:
    ratio, low, high = (as_float(row.get(key)) for key in ("ratio", "low", "high"))
    usable = 0 < low <= ratio <= high < 1e6
    return Bar(line(name), ratio, low, high, a_a) if usable else None


def _sides(sides: Mapping[str, Any], compared: Mapping[str, Any], gates: Sequence[Mapping[str, Any]]) -> list[SideRow]:
    verdicts = {line(gate.get("name")): mark(gate.get("verdict")) for gate in gates}
    return [
        _side(
            line(name), mapping(row), mapping(mapping(compared.get(name)).get("ratio")), verdicts.get(f"speed/{name}")
        )
        for name, row in sides.items()
    ]


def _side(name: str, row: Mapping[str, Any], ratio: Mapping[str, Any], verdict: Mark | None) -> SideRow:
    percentiles = mapping(row.get("percentiles"))
    return SideRow(
        name=name,
        commit=line(row.get("commit"))[:12],
        median=_milliseconds(percentiles.get("50")),
        p90=_milliseconds(percentiles.get("90")),
        count=number(row.get("num_iters")),
        ratio=number(ratio.get("ratio")),
        between=f"{number(ratio.get('low'))} – {number(ratio.get('high'))}" if ratio else MISSING,
        mark=verdict,
    )


def _milliseconds(seconds: object) -> str:
    return f"{number(1e3 * as_float(seconds))} ms" if math.isfinite(as_float(seconds)) else MISSING


def draw(bars: Sequence[Bar], bound: float, prefix: str, names: Mapping[str, tuple[str, str]]) -> str:
    """Return the intervals as an inline <svg> element, one row each, on a logarithmic scale.

    `names` holds the title and the description in each language.
    """
    height = _MARGIN + _ROW * len(bars)
    rect = (0.11, 0.42 / height, 0.86, 1 - _MARGIN / height)
    return picture((_WIDTH, height), rect, lambda axes: _fill(axes, bars, bound), prefix, names)


def _fill(axes: Axes, bars: Sequence[Bar], bound: float) -> None:
    low = min(0.9, *(bar.low for bar in bars)) / 1.02
    high = max(1.2, *(bar.high for bar in bars)) * 1.02
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.set_ylim(len(bars) - 0.5, -0.5)
    axes.axvspan(low, bound, color=ALLOWED, linewidth=0, zorder=0)
    axes.axvline(1.0, color=RULE, linewidth=1.0, zorder=1)
    axes.axvline(bound, color=FLOOR, linewidth=1.1, linestyle=(0, (3, 2)), zorder=2)
    for place, bar in enumerate(bars):
        colour = MUTED if bar.a_a else FAIL if bar.low > bound else MODEL
        axes.plot([bar.low, bar.high], [place, place], color=colour, linewidth=2.2, solid_capstyle="butt", zorder=3)
        axes.scatter([bar.ratio], [place], s=26, marker="D" if bar.low > bound else "o", color=colour, zorder=4)
    axes.set_yticks(range(len(bars)), [bar.name for bar in bars])
    _ticks(axes, low, high, bound)


def _ticks(axes: Axes, low: float, high: float, bound: float) -> None:
    steps = (0.25, 0.5, 0.75, 0.9, 1.0, bound, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0)
    shown = [step for step in steps if low <= step <= high]
    axes.set_xticks(shown, [f"{number(step)}×" for step in shown])
    axes.minorticks_off()
    axes.tick_params(length=0, which="both")
