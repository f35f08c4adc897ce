"""The runs of one precision: the real answer, a recorded run with the census, the noise floors, and a plain timing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from model_tests.precision.candidates import FLOAT32, FLOAT64, Candidate
from model_tests.precision.capture import Recorder
from model_tests.precision.census import Census, Tally, count_state, dtype_name
from model_tests.precision.floor import Island, Rules
from model_tests.precision.mode import op_by_op
from model_tests.precision.transport import pack
from model_tests.producing.checks import output_shape, signature, tensor
from model_tests.producing.handover import Handover
from model_tests.producing.student import Student, StudentError, forward, guard, one_line, packed
from model_tests.speed.timing import timing

# Floors that differ only in the summation order they imitate (numerics.md 8.4).
FLOORS = 5


@dataclass(frozen=True)
class Bench:
    """What every run needs: the student, the drawn inputs on the device, and where results go."""

    student: Student
    inputs: list[Tensor]
    handover: Handover

    def output(self, model: nn.Module, candidate: Candidate) -> Tensor:
        """Run the model as a server would; a contiguous tensor on the CPU."""
        what = signature(self.student.spec)
        result = tensor(guard(what, forward, model, candidate, self.inputs), what)
        output_shape(result, self.student.spec, what)
        return packed(result)

    def counted(self, model: nn.Module, candidate: Candidate) -> Tally:
        """Count the weights as they were cast: a forward may change them."""
        tally = Tally(dtype_name(candidate.dtype))
        count_state(tally, candidate, model, self.student.spec.allow_float32)
        return tally

    def recorded(self, model: nn.Module, candidate: Candidate, tally: Tally) -> list[dict[str, Any]]:
        """Run again with hooks and the census; returns the packed calls, and notes the census in the report."""
        allowed = self.student.spec.allow_float32
        with op_by_op(model), Recorder(model) as recorder, Census(tally, candidate, recorder, allowed):
            forward(model, candidate, self.inputs)
        self.handover.note("census", candidate.name, tally.to_dict())
        return pack(recorder.calls)

    def time(self, model: nn.Module, candidate: Candidate) -> None:
        """Note a plain timing."""
        run = partial(forward, model, candidate, self.inputs)
        self.handover.note("timing", candidate.name, timing(run, self.student.spec.iterations, self.inputs[0].device))


def measure_float32(bench: Bench, model: nn.Module, output: Tensor) -> None:
    """Hand over the float32 answer that the checks have seen, its module outputs, census and timing."""
    tally = bench.counted(model, FLOAT32)
    calls = _ours(bench, "float32", partial(bench.recorded, model, FLOAT32, tally)) or []
    bench.handover.tensors("float32", {"output": packed(output), "calls": calls})
    bench.time(model, FLOAT32)


def measure_float64(bench: Bench) -> None:
    """Hand over the model's own fp64 answer; a model that cannot run in fp64 leaves only a note."""
    what = f"float64: {signature(bench.student.spec)}"
    try:
        model = bench.student.model(FLOAT64)
        with Recorder(model) as recorder:
            output = tensor(guard(what, forward, model, FLOAT64, bench.inputs), what)
    except StudentError as error:
        bench.handover.note("notes", "float64", str(error))
        return
    bench.handover.tensors("float64", {"output": packed(output.double()), "calls": pack(recorder.calls)})


def measure_candidate(bench: Bench, candidate: Candidate) -> None:
    """Hand over one candidate: real answer, floors, module outputs of both, census, timing."""
    model = bench.student.model(candidate)
    tally = bench.counted(model, candidate)
    output = bench.output(model, candidate)
    calls = _ours(bench, candidate.name, partial(bench.recorded, model, candidate, tally)) or []
    bench.time(model, candidate)
    del model
    floors, floor_calls = _floors(bench, candidate)
    content = {"output": output, "calls": calls, "floors": floors, "floor_calls": floor_calls}
    bench.handover.tensors(candidate.name, content)


def _floors(bench: Bench, candidate: Candidate) -> tuple[list[Tensor], list[dict[str, Any]]]:
    """Run the floors, the first one recorded; none, and a note, when an op cannot be computed in fp32."""
    rules: Rules = {}
    try:
        model = bench.student.model(candidate)
        with Recorder(model) as recorder:
            floors = [_floor(bench, model, candidate, 0, rules)]
        floors += [_floor(bench, model, candidate, number, rules) for number in range(1, FLOORS)]
    except BaseException as error:
        bench.handover.note("floor_errors", candidate.name, one_line(str(error) or type(error).__name__, 300))
        return [], []
    return floors, pack(recorder.calls)


def _floor(bench: Bench, model: nn.Module, candidate: Candidate, number: int, rules: Rules) -> Tensor:
    generator = torch.Generator(bench.inputs[0].device).manual_seed(number)
    with op_by_op(model), Island(candidate.dtype, generator, rules):
        output = tensor(forward(model, candidate, bench.inputs), candidate.name)
    return packed(output)


def _ours(bench: Bench, name: str, run: Any) -> Any:
    """Run something that only our instruments can break: it worked without them."""
    try:
        return run()
    except BaseException as error:
        bench.handover.note("instrument_errors", name, one_line(f"{type(error).__name__}: {error}", 300))
        return None
