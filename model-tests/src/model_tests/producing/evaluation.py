"""The project's own labelled rows: `[int8] evaluation` names a function that returns [(inputs, labels), …]."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from model_tests.precision.candidates import FLOAT32
from model_tests.producing.checks import tensor
from model_tests.producing.student import StudentError, forward, guard
from model_tests.spec import Spec

# More rows are left out: a loss of a tenth of a point shows with fewer.
MOST_ROWS = 4096


class EvaluationError(StudentError):
    """The evaluation function did not give labelled rows; the message is one line."""


@dataclass(frozen=True)
class Labelled:
    """One batch: the arguments of the model's forward, on its device, and labels, int64 [rows] or [rows, positions]."""

    inputs: list[Tensor]
    labels: Tensor


def labelled(spec: Spec, evaluation: str, device: torch.device) -> list[Labelled]:
    """Call the function and check what it returns; EvaluationError says what was wrong."""
    module_name, _, name = evaluation.partition(":")
    try:
        function = getattr(guard(f"import {module_name}", importlib.import_module, module_name), name, None)
        if not callable(function):
            raise StudentError(f"{module_name} has no function {name}")
        given = guard(f"{evaluation}()", partial(_called, function))
    except StudentError as error:
        raise EvaluationError(str(error), error.status) from error
    found: list[Labelled] = []
    for number, item in enumerate(given):
        found.append(_batch(spec, item, f"{evaluation}() batch {number}", device))
        if sum(one.labels.shape[0] for one in found) >= MOST_ROWS:
            break
    if not found:
        raise EvaluationError(f"{evaluation}() must return at least one (inputs, labels); it returned none")
    return found


def _called(function: Any) -> list[Any]:
    given = function()
    if not isinstance(given, Iterable) or isinstance(given, Tensor):
        raise StudentError(f"it must return a list of (inputs, labels); got {type(given).__name__}")
    return list(given)


def _batch(spec: Spec, item: Any, what: str, device: torch.device) -> Labelled:
    if not isinstance(item, tuple | list) or len(item) != 2:
        raise EvaluationError(f"{what} must be (inputs, labels)")
    inputs = list(item[0]) if isinstance(item[0], tuple | list) else [item[0]]
    labels = item[1]
    names = [i.name for i in spec.inputs]
    if len(inputs) != len(names) or not all(isinstance(x, Tensor) for x in inputs):
        raise EvaluationError(f"{what}: inputs must be {len(names)} tensor(s): {', '.join(names)}")
    if not isinstance(labels, Tensor) or labels.dtype != torch.int64 or not labels.dim() or not labels.numel():
        raise EvaluationError(f"{what}: labels must be a tensor of int64, the batch first")
    if any(not x.dim() or x.shape[0] != labels.shape[0] for x in inputs):
        raise EvaluationError(f"{what}: inputs and labels must have the same batch (first size)")
    return Labelled([x.detach().to(device) for x in inputs], labels.detach().cpu().contiguous())


def truth(model: nn.Module, one: Labelled, what: str) -> Tensor:
    """Return float32's predictions; here whatever the model raises is about the rows: EvaluationError."""
    try:
        return predictions(model, one, what)
    except StudentError as error:
        raise EvaluationError(str(error), error.status) from error


def predictions(model: nn.Module, one: Labelled, what: str) -> Tensor:
    """Return the largest class of each label's place, int64 on the CPU; EvaluationError when shapes do not fit."""
    logits = tensor(guard(what, forward, model, FLOAT32, one.inputs), what)
    if logits.shape[:-1] != one.labels.shape:
        raise EvaluationError(
            f"{what}: labels {list(one.labels.shape)} do not fit logits {list(logits.shape)}: "
            "they need the shape of the logits without the classes"
        )
    return logits.argmax(-1).cpu()
