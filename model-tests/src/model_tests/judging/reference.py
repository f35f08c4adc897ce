"""The course's reference with the student's weights: its fp64 answer is the truth, its own losses the measure."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from model_tests import references
from model_tests.judging.files import Run
from model_tests.precision.blame import by_key
from model_tests.precision.candidates import Candidate
from model_tests.precision.capture import Recorder
from model_tests.precision.floor import Island
from model_tests.precision.mode import op_by_op
from model_tests.producing.machine import UNSUPPORTED

SHOWN_KEYS = 3
# What torch says when memory ran out: nobody's mistake.
OUT_OF_MEMORY = ("can't allocate memory", "not enough memory", "out of memory")


class MisfitError(Exception):
    """The student's input does not fit the reference; `key` and `params` of the message that says so."""

    def __init__(self, key: str, params: dict[str, Any]) -> None:
        super().__init__(key)
        self.key, self.params = key, params


class Reference:
    """A platform-owned model in any precision. Runs on the CPU, whatever the candidate ran on."""

    def __init__(self, name: str, config: Mapping[str, Any], state: Mapping[str, Tensor]) -> None:
        """MisfitError when the configuration or the weights do not fit."""
        self.name, self.config, self.state = name, dict(config), dict(state)
        _check_state(self._empty().state_dict(), self.state)

    def run(self, candidate: Candidate, inputs: list[Tensor], floor_seed: int | None = None) -> Run:
        """Run recorded; with a seed, under Island: the floor of the reference in that precision."""
        model = self._model(candidate)
        mode: AbstractContextManager[object] = nullcontext()
        if floor_seed is not None:
            mode = Island(candidate.dtype, torch.Generator().manual_seed(floor_seed))
        try:
            with torch.no_grad(), op_by_op(model), Recorder(model) as recorder, candidate.context("cpu"), mode:
                output = model(*candidate.inputs(inputs))
        except (IndexError, RuntimeError, ValueError) as error:
            if any(text in str(error) for text in (*OUT_OF_MEMORY, *UNSUPPORTED)):
                raise  # this machine's limit, not the student's input
            found = f"{type(error).__name__}: {error}".splitlines()[0]
            raise MisfitError("smoke.reference", {"reference": self.name, "detail": found}) from error
        return Run(output.detach().contiguous(), by_key(recorder.calls))

    def _empty(self) -> nn.Module:
        """Build without memory for weights."""
        try:
            with torch.device("meta"), _NoInit():
                return references.factory(self.name)(**self.config)
        except (TypeError, ValueError, RuntimeError) as error:
            params = {"reference": self.name, "detail": str(error).splitlines()[0]}
            raise MisfitError("smoke.config", params) from error

    def _model(self, candidate: Candidate) -> nn.Module:
        model = self._empty()
        wide = {name: t.float() if t.is_floating_point() else t for name, t in self.state.items()}
        model.load_state_dict(wide, assign=True)
        return candidate.prepare(model.eval())


class _NoInit(TorchFunctionMode):
    """Skip torch.nn.init: the weights come from the student, and on meta tensors a normal_ loads the compiler."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__module__", "") == "torch.nn.init":
            return args[0] if args else kwargs["tensor"]
        return func(*args, **(kwargs or {}))


def _check_state(wanted: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> None:
    """MisfitError that says in words which keys are missing, unknown, or of another shape."""
    missing, unknown = [k for k in wanted if k not in found], [k for k in found if k not in wanted]
    shapes = [
        f"{k} is {list(found[k].shape)}, not {list(wanted[k].shape)}"
        for k in wanted
        if k in found and found[k].shape != wanted[k].shape
    ]
    parts = [("missing", missing), ("not in the reference", unknown), ("of another shape", shapes)]
    words = [f"{len(names)} {what}: {_some(names)}" for what, names in parts if names]
    if words:
        raise MisfitError("smoke.state-dict", {"detail": "; ".join(words)})


def _some(names: list[str]) -> str:
    return ", ".join(names[:SHOWN_KEYS]) + (", …" if len(names) > SHOWN_KEYS else "")
