"""The error staircase: one step per module in the order of execution, against its floor and what is allowed."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter

from model_tests.report.blocks import placed, shortened, spans
from model_tests.report.figure import picture
from model_tests.report.numbers import SUPERSCRIPT, number
from model_tests.report.palette import ALLOWED, FAIL, FLOOR, MODEL, MUTED, RULE, STRIPE

_SIZE = (9.6, 2.9)
_RECT = (0.06, 0.17, 0.93, 0.73)
_SMALLEST, _LARGEST, _LINEAR = 1e-6, 1e12, 30
_FEW = 90


@dataclass(frozen=True)
class Staircase:
    """What is drawn, an entry for each of one or more modules.

    `measured` is ν (NaN: not compared), `floor` and `allowed` are the floor and the largest allowed ν (NaN: none);
    `broken` tells which outputs hold values that are not finite.
    """

    names: Sequence[str]
    measured: Sequence[float]
    floor: Sequence[float]
    allowed: Sequence[float]
    broken: Sequence[bool]

    def state(self, index: int) -> str:
        """Return "broken", "unknown" for what was not compared, "over" above what is allowed, else "inside"."""
        if self.broken[index]:
            return "broken"
        if math.isnan(self.measured[index]):
            return "unknown"
        return "over" if self.measured[index] > self.allowed[index] else "inside"

    @property
    def first(self) -> int | None:
        """The first module that is over or broken."""
        return next((index for index in range(len(self.names)) if self.state(index) in {"over", "broken"}), None)


def draw(staircase: Staircase, prefix: str, names: Mapping[str, tuple[str, str]]) -> str:
    """Return the chart as an inline <svg> element with ids starting with `prefix`; the same input, the same bytes.

    `names` holds the title and the description in each language.
    """
    return picture(_SIZE, _RECT, lambda axes: _fill(axes, staircase), prefix, names)


def _fill(axes: Axes, staircase: Staircase) -> None:
    low, high, log = _scale(staircase)
    axes.set_yscale("log" if log else "linear")
    axes.set_ylim(low, high)
    axes.set_xlim(0, len(staircase.names))
    _blocks(axes, staircase.names)
    _steps(axes, staircase, low, high)
    _markers(axes, staircase, low, high)
    axes.yaxis.set_major_formatter(lambda value, _: _tick(value, log))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.grid(True, color=RULE, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, which="both")
    axes.text(-0.008, 1.06, "ν", transform=axes.transAxes, ha="right", color=MUTED)


def _scale(staircase: Staircase) -> tuple[float, float, bool]:
    """Smallest and largest height, and whether powers of ten are needed to see the usual beside the largest.

    A few very small errors (modules that autocast leaves in float32) are no reason for a logarithmic scale.
    """
    values = [*staircase.measured, *staircase.floor, *staircase.allowed]
    shown = [min(value, _LARGEST) for value in values if value > _SMALLEST] or [1.0]
    usual, top = median(shown), max(shown)
    if top / usual < _LINEAR:
        return 0.0, top * 1.25, False
    return max(min(shown), usual / 30) / 1.5, top * 2, True


def _tick(value: float, log: bool) -> str:
    power = round(math.log10(value)) if log else 0
    return f"10{str(power).translate(SUPERSCRIPT)}" if abs(power) > 3 else number(value)


def _steps(axes: Axes, staircase: Staircase, low: float, high: float) -> None:
    edges = [float(index) for index in range(len(staircase.names) + 1)]

    def heights(values: Sequence[float]) -> list[float]:
        found = [min(max(value, low), high) if math.isfinite(value) else math.nan for value in values]
        return [*found, *found[-1:]]

    floor, measured = heights(staircase.floor), heights(staircase.measured)
    axes.fill_between(edges, low, heights(staircase.allowed), step="post", color=ALLOWED, linewidth=0, zorder=1)
    axes.step(edges, floor, where="post", color=FLOOR, linewidth=1.1, linestyle=(0, (3, 2)), zorder=3)
    axes.step(edges, measured, where="post", color=MODEL, linewidth=1.7, zorder=4, gid="measured")


def _markers(axes: Axes, staircase: Staircase, low: float, high: float) -> None:
    states = [staircase.state(index) for index in range(len(staircase.names))]
    size = 26 if len(states) <= _FEW else 10

    def place(index: int) -> float:
        return high if states[index] == "broken" else min(max(staircase.measured[index], low), high)

    for state, marker in (("over", "D"), ("broken", "x")):
        shown = [index for index, found in enumerate(states) if found == state]
        heights = [place(index) for index in shown]
        axes.scatter(
            [index + 0.5 for index in shown], heights, s=size, marker=marker, color=FAIL, zorder=5, clip_on=False
        )
    if staircase.first is not None:
        _name(axes, staircase.names[staircase.first], staircase.first + 0.5, place(staircase.first))


def _name(axes: Axes, name: str, x: float, height: float) -> None:
    """Name the first module that is over, above the axes, with a line down to its marker."""
    fraction = x / axes.get_xlim()[1]
    axes.plot([x, x], [height, axes.get_ylim()[1]], color=FAIL, linewidth=0.7, zorder=4.5)
    side = "left" if fraction < 0.15 else "right" if fraction > 0.85 else "center"
    axes.text(fraction, 1.06, shortened(name, 48), transform=axes.transAxes, ha=side, color=FAIL)


def _blocks(axes: Axes, names: Sequence[str]) -> None:
    """Name the blocks below the axis and set every second one on a stripe."""
    found = list(spans(names))
    for start, end, _ in found[1::2]:
        axes.axvspan(start, end, color=STRIPE, linewidth=0, zorder=0)
    axes.set_xticks([])
    for fraction, row, text in placed(found, len(names)):
        axes.text(fraction, -0.09 - 0.11 * row, text, transform=axes.transAxes, ha="center", color=MUTED)
