"""golden.json: one request and the answer that a server of this model must give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from model_tests.judging import files
from model_tests.judging.gates import gate
from model_tests.precision.candidates import DTYPES, UNIT_ROUNDOFF
from model_tests.precision.errors import count_nonfinite, relative_l2
from model_tests.precision.transport import DamagedError
from model_tests.spec import Spec
from model_tests.verdict import Gate, Verdict

# Another machine and another batch size change float32 by a few roundoffs, and half precision by its own loss (the
# measured nu of the model, 4 x for another kernel); at least this many, because a short answer scatters more.
FEWEST_ROUNDOFFS = 100.0
LOSS_FACTOR = 4.0


def answer(produced: Path, most: float) -> Tensor | None:
    """Return the answer to the first row alone; None when it is missing, damaged or larger than `most` bytes."""
    try:
        files.check_size(produced / f"{files.GOLDEN}.pt", most)
        return files.run(produced, files.GOLDEN, None, frozenset({torch.float32})).output
    except DamagedError:
        return None


def single_gate(alone: Tensor | None, batch: Tensor, allowed: float) -> Gate:
    """Is the first row answered alone as in the batch? A service is asked one row at a time.

    Args:
        alone: the answer to the first row, [1, …]; None when it is missing.
        batch: the float32 answer to all rows, [rows, …].
        allowed: relative L2 between the two.
    """
    if alone is None:
        return gate("batch-1", Verdict.INCONCLUSIVE, "batch.missing")
    if alone.shape != batch[:1].shape or count_nonfinite(alone):
        return gate("batch-1", Verdict.FAIL, "batch.unusable", {"output": list(alone.shape)})
    if count_nonfinite(batch[:1]):
        return gate("batch-1", Verdict.NOT_APPLICABLE, "batch.not-finite")
    apart = relative_l2(alone, batch[:1])
    verdict = Verdict.PASS if apart <= allowed else Verdict.FAIL
    key = "batch.passed" if verdict is Verdict.PASS else "batch.differs"
    return gate("batch-1", verdict, key, value=apart, bound=allowed, unit="relative error")


def golden(spec: Spec, output: Tensor | None, inputs: list[Tensor], result: dict[str, Any]) -> dict[str, Any] | None:
    """Return the first row of the inputs, the answer to it alone, and the relative L2 that may lie between.

    None when the answer is missing or not finite: there is nothing to hold a server to.
    """
    if output is None or count_nonfinite(output) or output.shape[0] != 1:
        return None
    rows = {item.name: x[:1].tolist() for item, x in zip(spec.inputs, inputs, strict=True)}
    return {"inputs": rows, "outputs": output.tolist(), "rtol": tolerance(spec.serving_dtype, result)}


def tolerance(dtype: str, result: dict[str, Any]) -> float:
    """Return the allowed relative L2 in the serving dtype, from what the model was measured to lose."""
    unit = UNIT_ROUNDOFF[DTYPES[dtype]]
    if dtype == "float32":
        measured: float = (result["fp32"] or {}).get("bound") or 0.0
        return max(2 * measured, FEWEST_ROUNDOFFS) * unit
    lost: list[float] = [g["params"].get("nu") for g in result["gates"] if g["name"] == f"precision/{dtype}"]
    return LOSS_FACTOR * max([nu for nu in lost if nu] + [1.0]) * unit
