"""Can the times of a speed phase be trusted? What spoils them makes every comparison INCONCLUSIVE, in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from model_tests.hardware import catalogue
from model_tests.judging import files
from model_tests.memory.llama import Shape
from model_tests.precision.errors import relative_l2
from model_tests.precision.transport import FLOATING, DamagedError
from model_tests.spec import Spec
from model_tests.speed.decision import AGAIN, CANDIDATE, LEAST_ROUNDS
from model_tests.speed.plausible import Claim, Device, Doubt, plausible
from model_tests.speed.record import Measured

# A CPU's peak is what it gave in a matrix product beside noisy neighbours; a quiet moment may give twice that.
CPU_SLACK = 2.0
BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}
# Weights below this may stay in the device's cache from one forward to the next (the largest last-level cache of the
# catalogue's GPUs has 126 MB), so that the memory's bandwidth bounds nothing.
CACHED = 128 * 10**6

Spoilt = tuple[str, dict[str, Any]]
"""The key and the parameters of a sentence."""


@dataclass(frozen=True)
class Trial:
    """What was timed: `allowed` is the relative L2 between the answer that was timed and the one that was judged."""

    spec: Spec
    accelerator: str
    produced: Path
    measured: Measured | None
    allowed: float


def spoilt(case: Trial) -> Spoilt | None:
    """Return the key and parameters of what spoils every comparison, None when nothing does."""
    measured = case.measured
    if measured is None:
        return "speed.not-measured", {"detail": "produce left no times"}
    if measured.ended in ("memory", "stopped") or (measured.ended == "failed" and not measured.sides):
        return "speed.not-measured", {"detail": measured.message or measured.ended}
    for name in (CANDIDATE, AGAIN):
        side = measured.sides.get(name)
        if side is None or not side.ok:
            return "speed.candidate-failed", {"detail": side.message if side else "it was not run"}
        if not side.finite:
            return "speed.not-finite", {}
    if measured.rounds < LEAST_ROUNDS or set(measured.blocks) <= {CANDIDATE, AGAIN}:
        return None  # nothing will be compared, and the reason is the baselines' or the time's
    wrong = _wrong_answer(case)
    if wrong is not None:
        return wrong
    doubts = doubts_of(case.spec, case.accelerator, measured)
    return (f"speed.{doubts[0].kind}", {"claimed": doubts[0].claimed, "limit": doubts[0].limit}) if doubts else None


def _wrong_answer(case: Trial) -> Spoilt | None:
    """Is what was timed what was judged? Both copies answered the judged inputs once more, after all blocks."""
    dtype = case.spec.serving_dtype
    try:
        judged = files.run(case.produced, dtype, None, FLOATING).output
        answers = [
            files.run(case.produced, f"speed-{name}", tuple(judged.shape), FLOATING) for name in (CANDIDATE, AGAIN)
        ]
    except DamagedError as error:
        return "speed.not-measured", {"detail": str(error)}
    if not all(bool(torch.isfinite(answer.output).all()) for answer in answers):
        return "speed.not-finite", {}
    apart = max(relative_l2(answer.output, judged) for answer in answers)
    return ("speed.wrong-answer", {"apart": apart, "allowed": case.allowed}) if apart > case.allowed else None


def doubts_of(spec: Spec, accelerator: str, measured: Measured) -> list[Doubt]:
    """Return why the candidate's times cannot be true: faster than the device can compute, or read the weights."""
    side, dtype = measured.sides[CANDIDATE], spec.serving_dtype
    device = _device(accelerator, dtype, measured.gemm_rate)
    rate = measured.gemm_rate
    if accelerator != "cpu" and rate is not None and device.peak is not None and rate > device.peak:
        return [Doubt("timer", rate, device.peak)]
    seconds = sorted(measured.blocks[CANDIDATE])[measured.rounds // 2] if measured.rounds else None
    operations, read = least_work(spec)
    operations = max(operations or 0.0, side.operations or 0.0) or None
    return plausible(Claim(seconds=seconds, operations=operations, read=read), device)


def _device(accelerator: str, dtype: str, gemm_rate: float | None) -> Device:
    if accelerator == "cpu":
        return Device(peak=None if gemm_rate is None else CPU_SLACK * gemm_rate)
    row = catalogue().get(accelerator)
    return Device(row.peak_flops(dtype), row.bandwidth) if row else Device()


def least_work(spec: Spec) -> tuple[float | None, float | None]:
    """Return what a forward takes at least, by the platform's own formula: operations, and bytes of weights read.

    None for a family without one. Attention and elementwise work are left out; the embedding is not read whole.
    """
    if spec.family != "llama":
        return None, None
    try:
        shape = Shape.from_config(spec.config)
        matrices = shape.parameters - shape.vocab_size * shape.hidden_size
    except ValueError:
        return None, None
    tokens = math.prod(spec.inputs[0].shape)
    return 2.0 * matrices * tokens, None if matrices < CACHED else float(matrices * BYTES[spec.serving_dtype])
