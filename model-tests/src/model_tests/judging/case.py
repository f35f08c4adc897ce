"""One case before the judge: the project, what it produced, and the gates in order, cheapest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from model_tests.draw import draw
from model_tests.judging import files, float32, loss
from model_tests.judging.census import census_gate
from model_tests.judging.conditioning import conditioned
from model_tests.judging.files import Run
from model_tests.judging.float32 import Truth
from model_tests.judging.gates import gate
from model_tests.judging.golden import answer, golden, single_gate, tolerance
from model_tests.judging.int8 import Compared, int8_gates
from model_tests.judging.record import Record, read
from model_tests.judging.reference import MisfitError, Reference
from model_tests.judging.result import Result
from model_tests.judging.speed import speed_gates
from model_tests.judging.speed_trust import Trial
from model_tests.precision import bounds
from model_tests.precision.candidates import candidate
from model_tests.precision.transport import DamagedError
from model_tests.producing import settings
from model_tests.producing.ending import GIB
from model_tests.producing.machine import unsupported
from model_tests.spec import Int8Spec, Spec
from model_tests.speed.baselines import Baseline
from model_tests.verdict import Gate, Verdict

# Until here the model runs as the student wrote it, once. Later stages run it some twenty times more (float64, floors),
# so a limit that is met there says nothing about the model. `evaluation` is a function of the project's own.
STUDENTS_STAGES = ("import", "build", "forward", "float32", "evaluation")


@dataclass(frozen=True)
class Case:
    """What the gates of a run that ended well need; `agrees`: float32 is what the reference computes."""

    spec: Spec
    accelerator: str
    produced: Path
    record: Record
    inputs: list[Tensor]
    found: Run
    own: Run | None
    truth: Truth | None
    reference: Reference | None
    agrees: bool


def judge(
    spec: Spec,
    seed: int,
    produced: Path,
    accelerator: str,
    shared: Path | None = None,
    baselines: Sequence[Baseline] = (),
) -> Result:
    """Judge what produce left in `produced`; `shared` inputs, if given, must be those that we draw.

    `baselines` are those of the run's plan. Raises only for errors of ours.
    """
    settings.apply()
    tables: dict[str, Any] = {}
    try:
        record = read(produced)
        tables = _tables(record)
        ended = _ended(record, accelerator, tables)
        if ended is not None:
            return ended
        files.check_sizes(produced, spec.memory_gib * GIB)
        drawn = draw(spec, seed)
        if shared is not None:
            _same(drawn, files.inputs(shared))
        return _judged(spec, accelerator, produced, record, list(drawn.values()), baselines, tables)
    except MisfitError as error:
        return Result.refused(accelerator, error.key, error.params, **tables)
    except DamagedError as error:
        return Result.trouble(accelerator, str(error), **tables)


def _tables(record: Record) -> dict[str, Any]:
    known = record.environment
    device = {"kind": str(known.get("device", "")), "name": str(known.get("device_name", ""))}
    tables = {"device": device, "census": record.census, "timing": record.timing}
    return {**tables, "memory": record.memory or None, "environment": dict(known)}


def _ended(record: Record, accelerator: str, tables: Mapping[str, Any]) -> Result | None:
    """Return the result of a run that left nothing to judge, None when it did."""
    if record.status == "harness-error":
        return Result.trouble(accelerator, f"{record.stage}: {record.message}", **tables)
    # Signals that no program sends itself: the machine ended it, most often for lack of memory (SIGBUS: of disk, or
    # of shared memory).
    if record.status == "crashed" and record.code in (-9, -15, -7):
        return Result.trouble(accelerator, f"{record.message}, from outside", **tables)
    if record.status in ("timeout", "out-of-memory") and record.stage not in STUDENTS_STAGES:
        detail = f"the harness's own measurements met the limits of lab.toml: {record.message}"
        return Result.trouble(accelerator, detail, **tables)
    if record.status != "ok":
        params = {"stage": record.stage, "detail": record.message}
        return Result.refused(accelerator, f"smoke.{record.status}", params, **tables)
    kind = record.environment.get("device")
    if (accelerator == "cpu") != (kind == "cpu"):
        return Result.trouble(accelerator, f"the model ran on {kind}, not on {accelerator}", **tables)
    return None


def _same(drawn: Mapping[str, Tensor], shared: Mapping[str, Tensor]) -> None:
    if set(shared) != set(drawn) or not all(torch.equal(shared[name], drawn[name]) for name in drawn):
        raise DamagedError("the inputs on the shared volume are not those that were drawn")


def _judged(
    spec: Spec,
    accelerator: str,
    produced: Path,
    record: Record,
    inputs: list[Tensor],
    baselines: Sequence[Baseline],
    tables: dict[str, Any],
) -> Result:
    """Run through all gates."""
    found = files.run(produced, "float32", None, frozenset({torch.float32}))
    own = None
    if (produced / "float64.pt").exists():
        own = files.run(produced, "float64", tuple(found.output.shape), frozenset({torch.float64}))
    reference = Reference(spec.reference, spec.config, files.state(produced)) if spec.reference else None
    truth = float32.truth(reference, own, inputs)
    if truth is not None:
        float32.check_shape(found, truth)
        ran = [name for name in spec.candidates if record.candidates.get(name, ("",))[0] == "ok"]
        truth = conditioned(truth, found, produced, ran)
    right = float32.right_gate(found, truth, reference is not None, record.notes.get("float64", ""))
    agrees = right.verdict is Verdict.PASS
    case = Case(spec, accelerator, produced, record, inputs, found, own, truth, reference, agrees)
    smoke = {"shape": list(found.output.shape), "parameters": record.memory.get("parameters", 0)}
    gates = [gate("smoke", Verdict.PASS, "smoke.passed", smoke), float32.finite_gate(found), right]
    gates.append(_census(case, "float32"))
    modules = {}
    for name in spec.candidates:
        more, modules[name] = _candidate(case, name)
        gates += more
    parts = {**tables, "fp32": float32.staircase(found, truth), "modules": modules}
    if spec.int8:
        more, parts["int8"] = int8_gates(_compared(case, spec.int8))
        gates += more
    known, alone = Result.of(accelerator, gates, **parts).content, answer(produced, spec.memory_gib * GIB)
    allowed = tolerance(spec.serving_dtype, known)
    gates.append(single_gate(alone, found.output, allowed))
    timed = Trial(spec, accelerator, produced, record.speed, allowed)
    more, parts["speed"] = speed_gates(timed, baselines)
    gates += [*more, _benchmark(record)]
    result = Result.of(accelerator, gates, **parts)
    result.golden = golden(spec, alone, inputs, known)
    return result


def _candidate(case: Case, name: str) -> tuple[list[Gate], list[dict[str, Any]]]:
    """Return the three gates of a candidate and the rows of its staircase."""
    status, said = case.record.candidates.get(name, ("error", "it was not run"))
    if status != "ok":
        return _not_run(name, said), []
    # Where float32 is wrong, the model's own fp64 tells what the precision costs: the error is reported once.
    exact = case.truth.exact if case.truth and case.agrees else case.own
    modules = case.own or exact
    measured = loss.Measured(
        candidate=candidate(name),
        run=files.candidate(case.produced, name, tuple(case.found.output.shape)),
        float32=case.found,
        exact=exact.output if exact else None,
        modules=modules.calls if modules else {},
        reference=case.reference if case.agrees else None,
        reference_modules=case.truth.exact.calls if case.truth else {},
        inputs=case.inputs,
        logits=case.spec.output == "logits",
        ratio_bound=bounds.ratio_bound(case.accelerator, case.spec.max_ratio),
        floor_error=case.record.floor_errors.get(name, ""),
    )
    gates = [_census(case, name), loss.finite_gate(measured), loss.precision_gate(measured)]
    return gates, loss.staircase(measured)


def _compared(case: Case, asked: Int8Spec) -> Compared:
    reference, bound = (case.reference, case.truth.bound) if case.truth and case.agrees else (None, 0.0)
    return Compared(case.spec, asked, case.produced, case.record.int8, case.inputs, case.found, reference, bound)


def _census(case: Case, name: str) -> Gate:
    record = case.record
    return census_gate(name, record.census.get(name), record.instrument_errors.get(name, ""), case.found.calls)


def _not_run(name: str, said: str) -> list[Gate]:
    """Return the gates of a candidate that raised: the machine has no kernel for it, or the code is at fault."""
    params = {"candidate": name, "detail": said}
    skipped = [
        gate(f"{kind}/{name}", Verdict.NOT_APPLICABLE, "candidate.not-run", params) for kind in ("census", "finite")
    ]
    if unsupported(said):
        return [*skipped, gate(f"precision/{name}", Verdict.INCONCLUSIVE, "candidate.unsupported", params)]
    return [*skipped, gate(f"precision/{name}", Verdict.FAIL, "candidate.error", params)]


def _benchmark(record: Record) -> Gate:
    """Return the plain timing: information, never a gate."""
    if "float32" not in record.timing:
        return gate("benchmark", Verdict.NOT_APPLICABLE, "benchmark.none")
    medians = {f"{name}_ms": row["median_ms"] for name, row in record.timing.items()}
    return gate("benchmark", Verdict.NOT_APPLICABLE, "benchmark.information", medians, unit="ms")
