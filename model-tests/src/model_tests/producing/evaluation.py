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
from model_tests.producing.student import StudentError, fetching, forward, guard, packed
from model_tests.spec import Spec

# More rows are left out: a loss of a tenth of a point shows with fewer.
MOST_ROWS = 4096


class EvaluationError(StudentError):
    """The evaluation function did not give labelled rows; the message is one line."""


@dataclass(frozen=True)
class Labelled:
    """One batch on the CPU: the arguments of the model's forward, and labels, int64 [rows] or [rows, positions]."""

    inputs: list[Tensor]
    labels: Tensor


def labelled(spec: Spec, evaluation: str) -> list[Labelled]:
    """Call the function and check what it returns, the first MOST_ROWS rows; EvaluationError says what was wrong."""
    try:
        return _batches(spec, _given(evaluation), evaluation)
    except StudentError as error:
        raise EvaluationError(str(error), error.status) from error


def _given(evaluation: str) -> list[Any]:
    module_name, _, name = evaluation.partition(":")
    function = getattr(fetching(f"import {module_name}", importlib.import_module, module_name), name, None)
    if not callable(function):
        raise StudentError(f"{module_name} has no function {name}")
    given: list[Any] = fetching(f"{evaluation}()", partial(_called, function))
    if not given:
        raise StudentError(f"{evaluation}() must return at least one (inputs, labels); it returned none")
    return given


def _called(function: Any) -> list[Any]:
    given = function()
    if not isinstance(given, Iterable) or isinstance(given, Tensor):
        raise StudentError(f"it must return a list of (inputs, labels); got {type(given).__name__}")
    return list(given)


def _batches(spec: Spec, given: list[Any], evaluation: str) -> list[Labelled]:
    found: list[Labelled] = []
    room = MOST_ROWS
    for number, item in enumerate(given):
        what = f"{evaluation}() batch {number}"
        one = _batch(spec, item, what, room)
        found.append(one)
        if one.labels.shape[1:] != found[0].labels.shape[1:]:
            raise StudentError(f"{what}: labels must have the positions of batch 0, {list(found[0].labels.shape[1:])}")
        room -= one.labels.shape[0]
        if not room:
            break
    return found


def _batch(spec: Spec, item: Any, what: str, most: int) -> Labelled:
    """Return at most the first `most` rows of a batch."""
    if not isinstance(item, tuple | list) or len(item) != 2:
        raise StudentError(f"{what} must be (inputs, labels)")
    inputs = list(item[0]) if isinstance(item[0], tuple | list) else [item[0]]
    labels = item[1]
    names = [i.name for i in spec.inputs]
    if len(inputs) != len(names) or not all(isinstance(x, Tensor) for x in inputs):
        raise StudentError(f"{what}: inputs must be {len(names)} tensor(s): {', '.join(names)}")
    if not isinstance(labels, Tensor) or labels.dtype != torch.int64 or not labels.dim() or not labels.numel():
        raise StudentError(f"{what}: labels must be a tensor of int64, the batch first")
    if any(not x.dim() or x.shape[0] != labels.shape[0] for x in inputs):
        raise StudentError(f"{what}: inputs and labels must have the same batch (first size)")
    *kept, last = guard(what, lambda: [packed(x[:most]) for x in (*inputs, labels)])
    return Labelled(kept, last)


def truth(model: nn.Module, one: Labelled, device: torch.device, what: str) -> Tensor:
    """Return float32's predictions; here whatever the model raises is about the rows: EvaluationError."""
    try:
        return predictions(model, one, device, what)
    except StudentError as error:
        raise EvaluationError(str(error), error.status) from error


def predictions(model: nn.Module, one: Labelled, device: torch.device, what: str) -> Tensor:
    """Return the largest class of each label's place, int64 on the CPU; EvaluationError when shapes do not fit."""
    logits = tensor(guard(what, _answer, model, one.inputs, device), what)
    if logits.shape[:-1] != one.labels.shape:
        raise EvaluationError(
            f"{what}: labels {list(one.labels.shape)} do not fit logits {list(logits.shape)}: "
            "they need the shape of the logits without the classes"
        )
    return logits.argmax(-1).cpu()


def _answer(model: nn.Module, inputs: list[Tensor], device: torch.device) -> Any:
    return forward(model, FLOAT32, [x.to(device) for x in inputs])
