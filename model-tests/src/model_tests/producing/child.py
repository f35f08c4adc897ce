"""The child process: imports and runs the student's code, and hands over tensors and a report.

Started by `produce` in its own session; ends with os._exit, so that threads and exit handlers of the student's code
cannot hold it up. An error of ours ends with status harness-error, the student's with its own.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import signal
import sys
import traceback
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from model_tests.precision.candidates import Candidate, candidate
from model_tests.producing import checks, machine, settings
from model_tests.producing.handover import Handover
from model_tests.producing.int8 import evaluation_rows, measure_int8
from model_tests.producing.measure import Bench, measure_candidate, measure_float32, measure_float64
from model_tests.producing.student import Student, StudentError, forward, guard, one_line, packed
from model_tests.spec import Spec

PR_SET_PDEATHSIG = 1


def run(spec: Spec, inputs: list[Tensor], handover: Handover, device: torch.device) -> None:
    """Run all stages, cheapest first. StudentError ends them; a candidate that fails does not end the others."""
    student = Student(spec, device)
    handover.stage("import")
    student.load()
    handover.stage("build")
    model = student.first()
    handover.tensors("state", student.weights())
    weights = list(model.parameters())
    handover.note("memory", "parameters", sum(p.numel() for p in weights))
    handover.note("memory", "weights_bytes", sum(p.numel() * p.element_size() for p in weights))
    bench = Bench(student, inputs, handover)
    handover.stage("forward")
    output = checks.first_forward(model, spec, inputs)
    handover.stage("float32")
    measure_float32(bench, model, output)
    del model, weights  # the models that come next need their room
    labelled = evaluation_rows(bench, spec.int8) if spec.int8 else None
    handover.stage("golden")
    _golden(bench)
    handover.stage("float64")
    measure_float64(bench)
    for name in spec.candidates:
        handover.stage(name)
        _candidate(bench, candidate(name))
    if spec.int8 and labelled is not None:
        handover.stage("int8")
        measure_int8(bench, spec.int8, labelled)


def _candidate(bench: Bench, which: Candidate) -> None:
    try:
        measure_candidate(bench, which)
    except StudentError as error:
        if error.status == "harness-error":
            raise  # a broken disk or GPU breaks what comes next too
        bench.handover.note("candidates", which.name, {"status": "error", "message": str(error)})
    else:
        bench.handover.note("candidates", which.name, {"status": "ok", "message": ""})


def _golden(bench: Bench) -> None:
    """Hand over the answer to the first row alone, in the serving dtype: what a server's first request must return."""
    spec = bench.student.spec
    serving = candidate(spec.serving_dtype)
    row = [x[:1] for x in bench.inputs]
    what = f"{checks.signature(spec)} with a batch of 1"
    try:
        output = checks.tensor(guard(what, partial(forward, bench.student.model(serving), serving), row), what)
    except StudentError as error:
        if serving.name == "float32" or not machine.unsupported(str(error)):
            raise
        bench.handover.note("notes", "golden", str(error))  # no kernel for that dtype on this machine: no answer
        return
    if output.dim() < 1 or output.shape[0] != 1:
        raise StudentError(f"{what} must return a batch of 1; got shape {list(output.shape)}")
    bench.handover.tensors("golden", {"output": packed(output.float())})


def main() -> None:
    """Run, report, and leave at once."""
    parser = argparse.ArgumentParser()
    for name in ("--spec", "--inputs", "--out"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--accelerator", default="")
    parser.add_argument("--source", action="append", default=[], help="folder of the student's modules")
    args = parser.parse_args()
    die_with_parent()
    handover = Handover(args.out)
    try:
        spec = Spec.from_file(args.spec)
        settings.apply()
        device = settings.device(args.accelerator)
        drawn = torch.load(args.inputs / "inputs.pt", weights_only=True)
        handover.report["environment"] = settings.environment(device)
        sys.path[0:0] = args.source
        run(spec, [drawn[item.name].to(device) for item in spec.inputs], handover, device)
    except StudentError as error:
        handover.fail(error.status, str(error))
    except BaseException as error:
        traceback.print_exc()
        handover.fail("harness-error", one_line(f"{type(error).__name__}: {error}"))
    os._exit(_hand_over(handover))


def _hand_over(handover: Handover) -> int:
    """Write the report; the exit code says when that was not possible."""
    try:
        handover.close()
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError as error:
        print(f"the report cannot be written: {error}", file=sys.stderr, flush=True)
        return machine.NO_REPORT
    return 0


def die_with_parent() -> None:
    """Do not outlive a parent that was killed outright (Linux): nobody would hold the limits any more."""
    if sys.platform != "linux":
        return
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


if __name__ == "__main__":
    main()
