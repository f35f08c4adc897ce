"""Blocks of modules below a chart: layers.0, layers.1, …, and which of their names have room."""

from collections.abc import Iterator, Sequence
from itertools import groupby

CHARACTER = 0.0078  # width of a character as a fraction of the axis
_LONGEST_NAME = 22

Span = tuple[int, int, str]  # first module, one behind the last, name


def placed(found: Sequence[Span], count: int) -> Iterator[tuple[float, int, str]]:
    """Yield (centre as a fraction of the axis, row, text) for the block names that have room in one of two rows."""
    free = [0.0, 0.0]
    for start, end, name in found:
        text = shortened(name, _LONGEST_NAME)
        half = len(text) * CHARACTER / 2
        centre = min(max((start + end) / 2 / count, half), 1 - half)
        row = next((row for row, edge in enumerate(free) if centre - half >= edge), None)
        if row is not None:
            free[row] = centre + half + CHARACTER
            yield centre, row, text


def spans(names: Sequence[str]) -> Iterator[Span]:
    """Yield the runs of neighbouring modules that are in one block."""
    start = 0
    for name, members in groupby(names, key=block):
        end = start + len(list(members))
        yield start, end, name
        start = end


def block(name: str) -> str:
    """Return the block a module belongs to: layers.0.attention.wq is in layers.0, norm in norm."""
    parts = name.split(".")
    numbered = next((index for index, part in enumerate(parts) if part.isdecimal()), None)
    return ".".join(parts[: 1 if numbered is None else numbered + 1])


def shortened(name: str, longest: int) -> str:
    """Return a name on one line with its middle cut out when it is too long."""
    flat = " ".join(name.split())
    return flat if len(flat) <= longest else f"{flat[: longest - 6]}…{flat[-5:]}"
