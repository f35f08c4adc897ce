"""Reading record.json, every value of which the student's code may have written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from model_tests.precision.transport import DamagedError
from model_tests.producing.ending import LARGEST_REPORT, SCHEMA, STATUSES
from model_tests.producing.plain_files import read_plain
from model_tests.speed.record import Measured
from model_tests.speed.record import read as read_speed
from model_tests.untrusted import line, mapping

MOST_ROWS = 256


@dataclass(frozen=True)
class Record:
    """What produce says happened; texts are one line, tables are plain."""

    status: str
    stage: str
    message: str
    code: int
    candidates: dict[str, tuple[str, str]]
    census: dict[str, dict[str, Any]]
    timing: dict[str, dict[str, float]]
    memory: dict[str, int]
    environment: dict[str, str | int | float | bool]
    notes: dict[str, str]
    floor_errors: dict[str, str]
    instrument_errors: dict[str, str]
    int8: dict[str, dict[str, Any]]
    speed: Measured | None


def read(produced: Path) -> Record:
    """Read `record.json`; DamagedError when it is missing or is not a record."""
    file = produced / "record.json"
    try:
        raw = json.loads(read_plain(file, 2 * LARGEST_REPORT))
    except OSError as error:
        raise DamagedError(f"record.json cannot be read ({error.strerror}): did produce run?") from error
    except (ValueError, RecursionError) as error:
        raise DamagedError("record.json is not JSON") from error
    if not isinstance(raw, dict) or raw.get("schema") != SCHEMA or raw.get("status") not in STATUSES:
        raise DamagedError(f"record.json is not a {SCHEMA}")
    texts = {name: _texts(raw.get(name)) for name in ("notes", "floor_errors", "instrument_errors")}
    code = raw.get("code", 0)
    return Record(
        status=raw["status"],
        stage=line(raw.get("stage")),
        message=line(raw.get("message")),
        code=code if isinstance(code, int) else 0,
        candidates={
            name: (line(row.get("status")), line(row.get("message"))) for name, row in _rows(raw, "candidates")
        },
        census={name: _census(row) for name, row in _rows(raw, "census")},
        timing={name: _timing(row) for name, row in _rows(raw, "timing") if _is_timing(row)},
        memory={name: value for name, value in _table(raw.get("memory")).items() if _is_count(value)},
        environment={name: _plain(value) for name, value in _table(raw.get("environment")).items()},
        **texts,
        int8={name: _int8(row) for name, row in _rows(raw, "int8")},
        speed=read_speed(raw.get("speed")),
    )


def _table(raw: object) -> dict[str, Any]:
    return {line(name): value for name, value in list(mapping(raw).items())[:MOST_ROWS]}


def _texts(raw: object) -> dict[str, str]:
    return {name: line(value) for name, value in _table(raw).items()}


def _rows(raw: Mapping[str, Any], name: str) -> list[tuple[str, dict[str, Any]]]:
    return [(key, row) for key, row in _table(raw.get(name)).items() if isinstance(row, dict)]


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _counts(raw: object) -> dict[str, int]:
    return {name: value for name, value in _table(raw).items() if _is_count(value)}


def _is_number(value: object) -> TypeGuard[int | float]:
    """Tell a number that a float can hold: JSON's integers have no end, and isfinite() raises for them."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _plain(value: object) -> str | int | float | bool:
    return value if isinstance(value, bool) or _is_number(value) else line(value)


def _census(row: Mapping[str, Any]) -> dict[str, Any]:
    raw = row.get("offenders")
    listed = raw[:MOST_ROWS] if isinstance(raw, list) else []
    offenders = [{k: line(o.get(k)) for k in ("name", "what", "dtype")} for o in listed if isinstance(o, dict)]
    counts = {name: _counts(row.get(name)) for name in ("gemm", "parameters", "buffers")}
    return {"expected": line(row.get("expected")), **counts, "offenders": offenders}


def _int8(row: Mapping[str, Any]) -> dict[str, Any]:
    """Facts of a scheme; `worst` are layers and the share of the loss (0 to 1) that each alone is to blame for."""
    counts = {name: row[name] for name in ("layers", "bytes_before", "bytes_after") if _is_count(row.get(name))}
    raw = row.get("worst")
    worst = raw[:MOST_ROWS] if isinstance(raw, list) else []
    shares = [{"name": line(w.get("name")), "share": w["share"]} for w in worst if isinstance(w, dict) and _is_share(w)]
    texts: dict[str, Any] = {key: line(row.get(key)) for key in ("status", "message")}
    return {**texts, **counts, "kept": _texts(row.get("kept")), "worst": shares}


def _is_share(row: Mapping[str, Any]) -> bool:
    share = row.get("share")
    return isinstance(share, int | float) and not isinstance(share, bool) and 0 <= share <= 1


def _is_timing(row: Mapping[str, Any]) -> bool:
    numbers = [row.get(name) for name in ("median_ms", "p90_ms")]
    return _is_count(row.get("iterations")) and all(_is_number(n) and n >= 0 for n in numbers)


def _timing(row: Mapping[str, Any]) -> dict[str, float]:
    return {name: row[name] for name in ("median_ms", "p90_ms", "iterations")}
