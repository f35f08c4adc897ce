"""How the child ended, from what it left behind: never from what it claims while it ended otherwise."""

from __future__ import annotations

import json
import signal
import tempfile
from pathlib import Path
from typing import Any

from model_tests.producing.log import last_line
from model_tests.producing.machine import NO_REPORT
from model_tests.producing.plain_files import read_plain
from model_tests.producing.supervise import Outcome
from model_tests.spec import Spec

SCHEMA = "gpulab/produced/v1"
STATUSES = ("ok", "input-error", "crashed", "timeout", "out-of-memory", "harness-error")
# The child's report is a few KiB for each candidate; more is not a report.
LARGEST_REPORT = 16 * 2**20
# Bytes that a disk with room for a report takes.
PROBE = 256 * 1024
GIB = 2**30


def record_of(spec: Spec, folder: Path, log: Path, outcome: Outcome) -> dict[str, Any]:
    """Say truthfully how the child ended; its own report counts only when it ended by itself, and with 0."""
    stage = _stage(folder)
    limits = f"{spec.timeout_seconds:g} seconds", f"{spec.memory_gib:g} GiB"
    if outcome.how == "timeout":
        return ended("timeout", stage, f"stage {stage} did not end within the limit of {limits[0]} for all stages")
    if outcome.how == "out-of-memory":
        used = outcome.peak / GIB
        return ended("out-of-memory", stage, f"stage {stage} used {used:.1f} GiB of memory; the limit is {limits[1]}")
    if outcome.how == "stopped":
        return ended("harness-error", stage, f"stage {stage} was stopped from outside (SIGTERM)")
    report = _report(folder)
    if outcome.code == 0 and report is not None:
        return ended(report["status"], report.get("stage", "done"), report["message"]) | _tables(report)
    if outcome.code == NO_REPORT or _full(folder):
        return ended("harness-error", stage, f"the disk is full or cannot be written; stage {stage} ended there")
    return ended("crashed", stage, _crash(outcome.code, stage, log)) | {"code": outcome.code}


def _crash(code: int, stage: str, log: Path) -> str:
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        return f"the process was ended by {name} in stage {stage}"
    said = last_line(log)
    ended = f"the process ended with exit code {code} in stage {stage} before it handed over results"
    return f"{ended} (os._exit?)" if code == 0 or not said else f"{ended}; it last printed: {said[:200]}"


def ended(status: str, stage: str, message: str) -> dict[str, Any]:
    """Return a record without measurements."""
    return {"schema": SCHEMA, "status": status, "stage": stage, "message": message, "candidates": {}, "environment": {}}


def _tables(report: dict[str, Any]) -> dict[str, Any]:
    names = (
        "candidates",
        "int8",
        "census",
        "timing",
        "memory",
        "environment",
        "notes",
        "floor_errors",
        "instrument_errors",
    )
    return {name: report[name] if isinstance(report.get(name), dict) else {} for name in names}


def _stage(folder: Path) -> str:
    try:
        text = read_plain(folder / "stage.txt", 64).decode()
    except (OSError, ValueError):
        return "start"
    return text if text.isprintable() and text else "start"


def _report(folder: Path) -> dict[str, Any] | None:
    """Return the child's report, None when it is missing or not one."""
    file = folder / "report.json"
    try:
        report = json.loads(read_plain(file, LARGEST_REPORT))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(report, dict) or report.get("status") not in STATUSES:
        return None
    texts = all(isinstance(report.get(name, ""), str) for name in ("message", "stage"))
    return report if texts and "message" in report else None


def _full(folder: Path) -> bool:
    """Try to write: free blocks say nothing of quotas."""
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(PROBE))
    except OSError:
        return True
    return False
