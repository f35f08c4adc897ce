"""How a verdict looks: a word in both languages, a shape that differs without colour, and a class for the style."""

from dataclasses import dataclass

from markupsafe import Markup

from model_tests.report.labels import label
from model_tests.report.tidy import line

_CLASSES = {"PASS": "pass", "FAIL": "fail", "INCONCLUSIVE": "open", "NOT APPLICABLE": "none"}


@dataclass(frozen=True)
class Mark:
    """A verdict ready to be shown; `css` also names the icon."""

    verdict: str
    css: str
    word: Markup


def mark(verdict: object) -> Mark:
    """Return the mark of a verdict string; anything else is shown as "no verdict"."""
    name = line(verdict)
    known = name in _CLASSES
    return Mark(
        name if known else "UNKNOWN", _CLASSES.get(name, "none"), label(f"verdict.{name if known else 'UNKNOWN'}")
    )
