"""What a forward must give: a tensor of the right dtype and batch, the same each time, its inputs untouched."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from model_tests.precision.candidates import FLOAT32
from model_tests.precision.errors import relative_l2
from model_tests.producing.student import StudentError, forward, guard
from model_tests.spec import Spec

# The bound of the self-consistency gate (100 units of fp32 roundoff): a run that repeats is far inside.
REPEATABLE = 100 * 2.0**-24


def signature(spec: Spec) -> str:
    """Describe the call as the student would write it: `forward(tokens: int64[4, 64])`."""
    return "forward(" + ", ".join(f"{i.name}: {i.dtype}{list(i.shape)}" for i in spec.inputs) + ")"


def tensor(output: Any, what: str) -> Tensor:
    """Return the model's output: a Tensor, or the first item of a tuple. StudentError for anything else."""
    first = output[0] if isinstance(output, tuple) and output else output
    if not isinstance(first, Tensor) or first.layout is not torch.strided or first.is_meta:
        raise StudentError(f"{what} must return a Tensor, or a tuple whose first item is one; got {_kind(output)}")
    return first.detach()


def _kind(value: Any) -> str:
    if isinstance(value, tuple):
        return "an empty tuple" if not value else f"a tuple that starts with {type(value[0]).__name__}"
    return type(value).__name__


def output_shape(output: Tensor, spec: Spec, what: str) -> None:
    """StudentError unless the output is floating, has the batch first and, for logits, classes last."""
    batch = spec.inputs[0].shape[0]
    if not output.is_floating_point():
        raise StudentError(f"{what} must return floating-point values; got {output.dtype}")
    if output.dim() < 1 or output.shape[0] != batch or not output.numel():
        raise StudentError(f"{what} must return the batch ({batch}) as the first size; got shape {list(output.shape)}")
    if spec.output == "logits" and (output.dim() < 2 or output.shape[-1] < 2):
        raise StudentError(
            f'{what} must return logits [batch, ..., classes] (output = "logits"); got {list(output.shape)}'
        )


def first_forward(model: nn.Module, spec: Spec, inputs: list[Tensor]) -> Tensor:
    """Run float32 twice and check all that the contract says of a forward; return the output."""
    what = signature(spec)
    given = [x.clone() for x in inputs]
    output = tensor(guard(what, _run, model, given), what)
    output_shape(output, spec, what)
    if output.dtype != torch.float32:
        raise StudentError(f"{what} must return float32 from a float32 model; got {output.dtype}")
    for item, before, after in zip(spec.inputs, inputs, given, strict=True):
        if before.shape != after.shape or not torch.equal(before, after):
            raise StudentError(f"{what} must not change its inputs; {item.name} was modified in place: work on a clone")
    output = output.clone()
    again = tensor(guard(what, forward, model, FLOAT32, inputs), what)
    repeats(output, again, what)
    return output


def _run(model: nn.Module, given: list[Tensor]) -> Any:
    with torch.no_grad():
        return model(*given)


def repeats(first: Tensor, second: Tensor, what: str) -> None:
    """StudentError when two runs of the same input differ by more than fp32 can."""
    if first.shape != second.shape:
        raise StudentError(f"{what} returned {list(first.shape)} and then {list(second.shape)} for the same inputs")
    difference = relative_l2(second.nan_to_num(), first.nan_to_num())
    if difference > REPEATABLE:
        raise StudentError(
            f"{what} must give the same answer twice; two runs differ by {difference:.2g} (relative, allowed "
            f"{REPEATABLE:.1g}): is dropout or another random operation on, or does forward() change the model?"
        )
