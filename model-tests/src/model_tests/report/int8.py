"""INT8 against float32 as rows of a table: what it loses, how sure that is, what it saves, which layers hurt."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from model_tests.report.labels import label
from model_tests.report.marks import Mark, mark
from model_tests.report.numbers import MISSING, as_float, number, size
from model_tests.report.tidy import line, mapping, rows

METRICS = ("kl", "accuracy", "signal")
MAX_NAMES = 20


@dataclass(frozen=True)
class Int8Row:
    """One scheme; `kept` are (module, why it stayed in float32), `worst` (module, share of the loss)."""

    scheme: str
    mark: Mark
    metric: Markup | None
    loss: str
    between: str
    allowed: str
    visible: str
    rows: str
    agreement: str
    before: str
    after: str
    layers: str
    kept: list[tuple[str, Markup]]
    omitted: int
    worst: list[tuple[str, str]]


def int8_rows(verify: Mapping[str, Any]) -> list[Int8Row]:
    """Return one row for each scheme that was asked for."""
    return [_row(line(name), mapping(facts)) for name, facts in mapping(verify.get("int8")).items()]


def _row(scheme: str, facts: Mapping[str, Any]) -> Int8Row:
    metric = line(facts.get("metric"))
    ends = [number(facts.get(key)) for key in ("low", "high")]
    kept = [(line(name), _why(line(why))) for name, why in mapping(facts.get("kept")).items()]
    return Int8Row(
        scheme=scheme,
        mark=mark(facts.get("verdict")),
        metric=label(f"int8.{metric}") if metric in METRICS else None,
        loss=number(facts.get("value")),
        between=MISSING if MISSING in ends else f"{ends[0]} … {ends[1]}",
        allowed=number(facts.get("bound")),
        visible=number(facts.get("visible")),
        rows=number(facts.get("rows")),
        agreement=_percent(facts.get("agreement")),
        before=size(facts.get("bytes_before")),
        after=size(facts.get("bytes_after")),
        layers=number(facts.get("layers")),
        kept=kept[:MAX_NAMES],
        omitted=max(len(kept) - MAX_NAMES, 0),
        worst=[(line(row.get("name")), _percent(row.get("share"))) for row in rows(facts.get("worst"))[:MAX_NAMES]],
    )


def _why(reason: str) -> Markup:
    """Two reasons of our own; else the kind of the module, which is not quantised."""
    return label(f"int8.{reason}") if reason in ("tied", "parametrized") else label("int8.kind", kind=reason)


def _percent(share: object) -> str:
    found = as_float(share)
    return MISSING if math.isnan(found) else f"{number(100 * found)} %"
