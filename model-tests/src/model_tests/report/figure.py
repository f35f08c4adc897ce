"""A matplotlib figure as an inline SVG element: one style for all charts, the same input gives the same bytes."""

import warnings
from collections.abc import Callable, Mapping
from io import StringIO

import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from model_tests.report.palette import INK, MUTED, RULE
from model_tests.report.svg import inline

# "default" first: a matplotlibrc of the machine must not change the report.
_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "gpulab",
    "text.parse_math": False,
    "path.simplify": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.edgecolor": RULE,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "text.color": INK,
    "font.size": 8.5,
}

Rect = tuple[float, float, float, float]


def picture(
    size: tuple[float, float],
    rect: Rect,
    fill: Callable[[Axes], None],
    prefix: str,
    names: Mapping[str, tuple[str, str]],
) -> str:
    """Return what `fill` draws as an inline <svg> element with ids starting with `prefix`.

    `size` in inches, `rect` the axes as fractions of it; `names` holds the title and the description in each language.
    """
    with matplotlib.style.context(["default", _STYLE]), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # glyphs missing in matplotlib's font: the browser has them
        figure = Figure(figsize=size)
        FigureCanvasSVG(figure)
        figure.patch.set_visible(False)
        axes = figure.add_axes(rect)
        axes.patch.set_visible(False)
        fill(axes)
        file = StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    return inline(file.getvalue(), prefix, names)
