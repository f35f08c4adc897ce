"""The quieter sections of the page: data types, timing, tests, memory, hardware. Results in, rows of text out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from model_tests.hardware.notes import sentence
from model_tests.memory import config_of, estimate
from model_tests.report.labels import LANGUAGES, both, label
from model_tests.report.numbers import MISSING, number, size
from model_tests.report.runs import runs
from model_tests.report.tidy import line, mapping, rows

DTYPES = ("float32", "float16", "bfloat16")
MAX_ROWS = 50


@dataclass(frozen=True)
class CensusRow:
    """The data types of one run; `offenders` are (module, what, dtype)."""

    candidate: str
    expected: str
    gemm: str
    parameters: str
    buffers: str
    offenders: list[tuple[str, str, str]]
    omitted: int


def census_rows(verify: Mapping[str, Any]) -> list[CensusRow]:
    """Return one row per candidate whose data types were counted."""
    found = []
    for name, census in runs(verify.get("census")):
        census = mapping(census)
        offenders = rows(census.get("offenders"))
        shown = [(line(o.get("name")), line(o.get("what")), line(o.get("dtype"))) for o in offenders[:MAX_ROWS]]
        found.append(
            CensusRow(
                candidate=name,
                expected=line(census.get("expected")),
                gemm=_counts(census.get("gemm")),
                parameters=_counts(census.get("parameters")),
                buffers=_counts(census.get("buffers")),
                offenders=shown,
                omitted=len(offenders) - len(shown),
            )
        )
    return found


def _counts(value: object) -> str:
    counted = [f"{number(count)} {line(dtype)}" for dtype, count in mapping(value).items() if count != 0]
    return ", ".join(counted) or MISSING


def timing_rows(verify: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """Return (run, median, 90th percentile, iterations), times in milliseconds."""
    timed = [(name, mapping(row)) for name, row in runs(verify.get("timing"))]
    return [
        (name, f"{number(row.get('median_ms'))} ms", f"{number(row.get('p90_ms'))} ms", number(row.get("iterations")))
        for name, row in timed
    ]


def memory_rows(spec: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return (dtype, weights, kv, activation, logits, overhead, total) for each dtype, nothing when it is not known."""
    try:
        found = [(dtype, estimate(spec["family"], config_of(spec), spec["inputs"], dtype)) for dtype in DTYPES]
    except (LookupError, ValueError, TypeError, AttributeError):
        return []
    return [
        (dtype, *(size(part) for part in (e.weights + e.buffers, e.kv, e.activation, e.logits, e.overhead, e.total)))
        for dtype, e in found
        if e
    ]


def measured_memory(verify: Mapping[str, Any], accelerator: str) -> Markup | None:
    """Return the sentence about what was counted on an accelerator."""
    memory = mapping(verify.get("memory"))
    if not memory:
        return None
    values = {"parameters": number(memory.get("parameters")), "bytes": size(memory.get("weights_bytes"))}
    return label("memory.measured", accelerator=accelerator, **values)


@dataclass(frozen=True)
class Cell:
    """One dtype on one accelerator; `fits` is None when memory is not known."""

    support: Markup
    native: bool
    fits: bool | None
    need: str
    batch: str


@dataclass(frozen=True)
class HardwareRow:
    """One accelerator of the hardware card."""

    title: str
    have: str
    lane: str
    cells: list[Cell]
    notes: list[Markup]


def hardware_rows(plan: Mapping[str, Any]) -> list[HardwareRow]:
    """Return the hardware card of the plan."""
    return [
        HardwareRow(
            title=line(row.get("title")) or line(row.get("accelerator")) or MISSING,
            have=number(row.get("have_gib")),
            lane=line(row.get("lane")) or MISSING,
            cells=[_cell(row, dtype) for dtype in DTYPES],
            notes=_notes(row),
        )
        for row in rows(plan.get("hardware"))
    ]


def _cell(row: Mapping[str, Any], dtype: str) -> Cell:
    memory = mapping(mapping(row.get("memory")).get(dtype)) or (row if dtype == DTYPES[0] else {})
    support = line(mapping(row.get("dtypes")).get(dtype))
    known = {"native": "hardware.native", "emulated, slow": "hardware.emulated", "none": "hardware.none"}
    fits = memory.get("fits")
    return Cell(
        support=label(known[support]) if support in known else both(support, support),
        native=support == "native",
        fits=fits if isinstance(fits, bool) else None,
        need=number(memory.get("need_gib")),
        batch=number(memory.get("largest_batch")),
    )


def _notes(row: Mapping[str, Any]) -> list[Markup]:
    try:
        texts = [[sentence(note, language) for language in LANGUAGES] for note in rows(row.get("notes"))]
    except (LookupError, ValueError, TypeError, AttributeError):
        texts = []
    if texts:
        return [both(en, zh) for en, zh in texts]
    note = line(row.get("note"))
    return [both(note, note)] if note else []
