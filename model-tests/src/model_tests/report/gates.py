"""Gates as rows of the table, and those that did not pass as cards that say why and what to change."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from model_tests.messages import explain
from model_tests.report.labels import LANGUAGES, both, unit
from model_tests.report.marks import Mark, mark
from model_tests.report.numbers import MISSING, shape, versus
from model_tests.report.tidy import line, mapping, rows

# Gates whose bound is the least that is needed; every other bound is the most that is allowed.
AT_LEAST = ("precision.few-values",)
_QUOTED = re.compile("`([^`]+)`")


@dataclass(frozen=True)
class GateRow:
    """One gate as text; `measured` and `allowed` carry enough digits to differ when the numbers do."""

    name: str
    accelerator: str
    mark: Mark
    measured: str
    allowed: str
    unit: Markup
    module: str
    shape: str
    key: str
    why: Markup
    change: Markup


@dataclass(frozen=True)
class Failure:
    """Gates with the same reason, module and advice: one candidate's trouble is often another's too."""

    gates: Sequence[GateRow]

    @property
    def head(self) -> GateRow:
        """The gate that speaks for all."""
        return self.gates[0]

    @property
    def others(self) -> Sequence[GateRow]:
        """The gates that follow from the same."""
        return self.gates[1:]


def gate_rows(results: Mapping[str, Any]) -> list[GateRow]:
    """Return every gate of the results in their order."""
    return [_row(gate) for gate in rows(results.get("gates"))]


def failures(gates: Sequence[GateRow]) -> list[Failure]:
    """Return what did not pass, FAIL before INCONCLUSIVE, gates of the same kind together."""
    found: dict[tuple[str, ...], list[GateRow]] = {}
    for css in ("fail", "open"):
        for gate in gates:
            if gate.mark.css == css:
                found.setdefault((css, gate.key or gate.why, gate.module, gate.change), []).append(gate)
    return [Failure(members) for members in found.values()]


def _row(gate: Mapping[str, Any]) -> GateRow:
    measured, allowed = versus(gate.get("value"), gate.get("bound"))
    why, change = _texts(gate)
    return GateRow(
        name=line(gate.get("name")) or MISSING,
        accelerator=line(gate.get("accelerator")),
        mark=mark(gate.get("verdict")),
        measured=measured,
        allowed=allowed if allowed == MISSING else f"{'≥' if gate.get('key') in AT_LEAST else '≤'} {allowed}",
        unit=unit(line(gate.get("unit"))),
        module=line(gate.get("module")),
        shape=shape(gate.get("shape")),
        key=line(gate.get("key")),
        why=why,
        change=change,
    )


def _texts(gate: Mapping[str, Any]) -> tuple[Markup, Markup]:
    """Return (why, change) in both languages; the gate's own English where the texts do not know its key."""
    try:
        found = {
            language: explain(str(gate.get("key")), language, mapping(gate.get("params"))) for language in LANGUAGES
        }
    except (LookupError, ValueError, TypeError, AttributeError):
        found = dict.fromkeys(LANGUAGES, (str(gate.get("why") or ""), str(gate.get("change") or "")))
    (why, change), (why_zh, change_zh) = (found[language] for language in LANGUAGES)
    return both(_prose(why), _prose(why_zh)), both(_prose(change), _prose(change_zh))


def _prose(text: str) -> Markup:
    """Return text as HTML, what stands between backquotes as code."""
    return Markup(_QUOTED.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped first
