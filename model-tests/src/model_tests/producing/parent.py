"""The parent process: supervises the child, checks what it handed over, writes `record.json`."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import stat
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from model_tests.fields import SpecError
from model_tests.int8 import FILES as INT8_FILES
from model_tests.producing import speed
from model_tests.producing.log import last_line
from model_tests.producing.machine import NO_REPORT
from model_tests.producing.plain_files import read_plain
from model_tests.producing.supervise import Limits, Outcome, supervise
from model_tests.spec import CANDIDATES, Spec

SCHEMA = "gpulab/produced/v1"
STATUSES = ("ok", "input-error", "crashed", "timeout", "out-of-memory", "harness-error")
FILES = ("state", "float32", "float64", "golden")
# The child's report is a few KiB for each candidate; more is not a report.
LARGEST_REPORT = 16 * 2**20
# Bytes that a disk with room for a report takes.
PROBE = 256 * 1024
GIB = 2**30
HARNESS = Path(__file__).parent.parent.parent


def produce(
    spec_file: Path,
    inputs: Path,
    out: Path,
    accelerator: str = "",
    sources: Sequence[str] = (),
    baselines: Path | None = None,
) -> dict[str, Any]:
    """Run the child, keep its files in `out` beside `log.txt`, write and return the record.

    `sources` are the folders that the student's modules are imported from, `baselines` the folder of older sources to
    be timed against.
    """
    started = time.monotonic()
    out.mkdir(parents=True, exist_ok=True)
    for old in (
        "record.json",
        "log.txt",
        *(f"{name}.pt" for name in (*FILES, *CANDIDATES, *INT8_FILES, *speed.ANSWERS)),
    ):
        (out / old).unlink(missing_ok=True)
    try:
        spec = Spec.from_file(spec_file)
    except SpecError as error:
        return write(out, _ended("harness-error", "spec", str(error)))
    with tempfile.TemporaryDirectory(dir=out, prefix="handover-", ignore_cleanup_errors=True) as folder:
        command = _command(spec_file, inputs, Path(folder), accelerator, sources)
        limits = Limits(spec.timeout_seconds, spec.memory_gib * GIB)
        outcome = supervise(command, _environment(), out / "log.txt", limits)
        record = gather(spec, Path(folder), out, outcome)
    record["seconds"] = round(time.monotonic() - started, 2)
    write(out, record)
    if baselines is None or record["status"] != "ok":
        return record
    return write(out, record | _timed(spec, speed.Place(spec_file, inputs, baselines, out), accelerator, sources))


def _timed(spec: Spec, place: speed.Place, accelerator: str, sources: Sequence[str]) -> dict[str, Any]:
    """Return what the speed phase adds to the record; what goes wrong there is said there, and spoils nothing else."""
    with tempfile.TemporaryDirectory(dir=place.out, prefix="handover-", ignore_cleanup_errors=True) as folder:
        try:
            measured = speed.measure(spec, place, Path(folder), accelerator, sources, _environment())
        except Exception as error:
            measured = {"ended": "failed", "message": f"{type(error).__name__}: {error}"}
        _collect(Path(folder), place.out, speed.ANSWERS)
    return {"speed": measured}


def gather(spec: Spec, folder: Path, out: Path, outcome: Outcome) -> dict[str, Any]:
    """Return the record of a child that ended so and handed over `folder`; its files move to `out` when all is well."""
    record = _record(spec, folder, out / "log.txt", outcome)
    if record["status"] == "ok":
        record["files"] = _collect(folder, out, (*FILES, *spec.candidates, *(INT8_FILES if spec.int8 else ())))
    return record


def _command(spec: Path, inputs: Path, folder: Path, accelerator: str, sources: Sequence[str]) -> list[str]:
    """-P: the folder we are started in is the student's repository, and must not shadow the standard library."""
    module = [sys.executable, "-P", "-m", "model_tests.producing.child"]
    paths = ["--spec", str(spec), "--inputs", str(inputs), "--out", str(folder)]
    return [*module, *paths, "--accelerator", accelerator, *(f"--source={source}" for source in sources)]


def _environment() -> dict[str, str]:
    """Add what must be set before torch starts: repeatable cuBLAS, no TF32; the path holds this package and no more."""
    ours = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8", "NVIDIA_TF32_OVERRIDE": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    return {**os.environ, **ours, "PYTHONUNBUFFERED": "1", "PYTHONPATH": str(HARNESS)}


def _record(spec: Spec, folder: Path, log: Path, outcome: Outcome) -> dict[str, Any]:
    """Say truthfully how the child ended; its own report counts only when it ended by itself, and with 0."""
    stage = _stage(folder)
    limits = f"{spec.timeout_seconds:g} seconds", f"{spec.memory_gib:g} GiB"
    if outcome.how == "timeout":
        return _ended("timeout", stage, f"stage {stage} did not end within the limit of {limits[0]} for all stages")
    if outcome.how == "out-of-memory":
        used = outcome.peak / GIB
        return _ended("out-of-memory", stage, f"stage {stage} used {used:.1f} GiB of memory; the limit is {limits[1]}")
    if outcome.how == "stopped":
        return _ended("harness-error", stage, f"stage {stage} was stopped from outside (SIGTERM)")
    report = _report(folder)
    if outcome.code == 0 and report is not None:
        return _ended(report["status"], report.get("stage", "done"), report["message"]) | _tables(report)
    if outcome.code == NO_REPORT or _full(folder):
        return _ended("harness-error", stage, f"the disk is full or cannot be written; stage {stage} ended there")
    return _ended("crashed", stage, _crash(outcome.code, stage, log)) | {"code": outcome.code}


def _crash(code: int, stage: str, log: Path) -> str:
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        return f"the process was ended by {name} in stage {stage}"
    said = last_line(log)
    ended = f"the process ended with exit code {code} in stage {stage} before it handed over results"
    return f"{ended} (os._exit?)" if code == 0 or not said else f"{ended}; it last printed: {said[:200]}"


def _ended(status: str, stage: str, message: str) -> dict[str, Any]:
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


def _collect(folder: Path, out: Path, names: Sequence[str]) -> dict[str, int]:
    """Move the expected files into `out`: regular files only; returns their sizes."""
    sizes = {}
    for name in names:
        file = folder / f"{name}.pt"
        if _regular(file):
            sizes[file.name] = file.stat().st_size
            file.replace(out / file.name)
    return sizes


def _full(folder: Path) -> bool:
    """Try to write: free blocks say nothing of quotas."""
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(PROBE))
    except OSError:
        return True
    return False


def _regular(file: Path) -> bool:
    try:
        return stat.S_ISREG(file.lstat().st_mode)
    except OSError:
        return False


def write(out: Path, record: dict[str, Any]) -> dict[str, Any]:
    """Put `record.json` in place, whatever the student's code left under that name, and return the record."""
    handle, fresh = tempfile.mkstemp(dir=out, prefix=".record-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(json.dumps(record, indent=2, sort_keys=True) + "\n")
        Path(fresh).chmod(0o644)
        Path(fresh).replace(out / "record.json")
    except OSError:
        Path(fresh).unlink(missing_ok=True)
        raise
    return record


def main(argv: Sequence[str] | None, sources: Sequence[str]) -> int:
    """Command line; always 0 once the arguments are read."""
    parser = argparse.ArgumentParser(prog="python3 -m model_tests.produce")
    parser.add_argument("--spec", type=Path, required=True, help="spec JSON, or a plan with it under `spec`")
    parser.add_argument("--inputs", type=Path, required=True, help="folder with inputs.pt, from model_tests.draw")
    parser.add_argument("--out", type=Path, required=True, help="folder for record.json, log.txt and tensors")
    parser.add_argument("--accelerator", default="", help="name of the accelerator; cpu: do not use a GPU")
    parser.add_argument("--baselines", type=Path, help="folder with the sources of the plan's baselines")
    args = parser.parse_args(argv)
    try:
        record = produce(args.spec, args.inputs, args.out, args.accelerator, sources, args.baselines)
    except Exception as error:
        record = _ended("harness-error", "start", f"{type(error).__name__}: {error}")
        with contextlib.suppress(OSError):
            write(args.out, record)
    print(f"produce: {record['status']}" + (f" ({record['stage']}: {record['message']})" if record["message"] else ""))
    return 0
