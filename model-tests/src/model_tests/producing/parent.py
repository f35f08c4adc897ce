"""The parent process: supervises the child, takes what it handed over, writes `record.json`."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
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
from model_tests.producing.ending import GIB, ended, record_of
from model_tests.producing.supervise import Limits, Outcome, supervise
from model_tests.spec import CANDIDATES, Spec

FILES = ("state", "float32", "float64", "golden")
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
        return write(out, ended("harness-error", "spec", str(error)))
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
    record = record_of(spec, folder, out / "log.txt", outcome)
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


def _collect(folder: Path, out: Path, names: Sequence[str]) -> dict[str, int]:
    """Move the expected files into `out`: regular files only; returns their sizes."""
    sizes = {}
    for name in names:
        file = folder / f"{name}.pt"
        if _regular(file):
            sizes[file.name] = file.stat().st_size
            file.replace(out / file.name)
    return sizes


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
        record = ended("harness-error", "start", f"{type(error).__name__}: {error}")
        with contextlib.suppress(OSError):
            write(args.out, record)
    print(f"produce: {record['status']}" + (f" ({record['stage']}: {record['message']})" if record["message"] else ""))
    return 0
