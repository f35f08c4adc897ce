"""The attempts at one thing: a run is named after what started it, and those after it count on (`…-2`, `…-3`)."""

from gpulab.events import attempt
from gpulab.home import Home


def runs_named(home: Home, base: str) -> list[str]:
    """The runs that were started under a name, oldest first."""
    found = [(attempt(one.name, base), one.name) for one in home.runs.glob(f"{base}*")]
    return [name for number, name in sorted(found) if number]


def next_name(home: Home, base: str) -> str:
    """The name of the next attempt."""
    known = runs_named(home, base)
    return f"{base}-{attempt(known[-1], base) + 1}" if known else base
