"""A count of what dtype every GEMM, convolution, attention, parameter and buffer really has.

Layers left in float32 do not show in an error ratio (0.93-0.97 with one MLP, 0.96 with all of them); a census finds
them (numerics.md 8.3). Statistics, rotary angles and other elementwise work in float32 are good practice and no
offence; GEMMs that do no reduction worth the name (an outer product, a dot product) count as elementwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_iter

from model_tests.precision.candidates import Candidate
from model_tests.precision.capture import ModuleStack
from model_tests.precision.mode import EagerMode
from model_tests.precision.policy import allowed

# Op name -> position of the left operand.
MATMULS = {
    "mm": 0,
    "bmm": 0,
    "mv": 0,
    "linear": 0,
    "addmm": 1,
    "addmv": 1,
    "baddbmm": 1,
    "addbmm": 1,
    "_addmm_activation": 1,
}
RECURRENT = frozenset({"mkldnn_rnn_layer", "_cudnn_rnn", "miopen_rnn"})
NARROW = frozenset(
    d for d in vars(torch).values() if isinstance(d, torch.dtype) and d.is_floating_point and d.itemsize < 4
)
# Offenders are listed once each; a report with more than this is not read.
MOST_OFFENDERS = 64


@dataclass(frozen=True, order=True)
class Offender:
    """A module or tensor that is not what the candidate says; `what`: gemm, parameter, buffer or cast."""

    name: str
    what: str
    dtype: str


@dataclass
class Tally:
    """The census of one candidate: counts by dtype name, and who is at fault."""

    expected: str
    gemm: Counter[str] = field(default_factory=Counter)
    parameters: Counter[str] = field(default_factory=Counter)
    buffers: Counter[str] = field(default_factory=Counter)
    offenders: dict[Offender, None] = field(default_factory=dict)

    def blame(self, offender: Offender) -> None:
        """Add an offender, in order of appearance."""
        if len(self.offenders) < MOST_OFFENDERS:
            self.offenders.setdefault(offender)

    def to_dict(self) -> dict[str, Any]:
        """JSON form, as in result.json."""
        counts = {"gemm": {self.expected: 0, "float32": 0, **self.gemm}}
        counts |= {"parameters": dict(self.parameters), "buffers": dict(self.buffers)}
        offenders = [{"name": o.name, "what": o.what, "dtype": o.dtype} for o in self.offenders]
        return {"expected": self.expected, **counts, "offenders": offenders}


class Census(EagerMode):  # type: ignore[no-untyped-call]
    """Counts the ops of a run into `tally`; `stack` tells which module each belongs to."""

    def __init__(
        self, tally: Tally, candidate: Candidate, stack: ModuleStack, allow_float32: Iterable[str] = ()
    ) -> None:
        super().__init__()
        self.tally, self.candidate, self.stack = tally, candidate, stack
        self.allowed = tuple(allow_float32)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run one op and count it."""
        out = func(*args, **(kwargs or {}))
        result = next((o for o in tree_iter(out) if isinstance(o, Tensor)), None)
        if result is None or not result.is_floating_point():
            return out
        if result.dtype in _narrower(self.candidate):
            self.tally.blame(Offender(self.stack.current, "cast", dtype_name(result.dtype)))
        elif isinstance(func, torch._ops.OpOverload) and _is_gemm(func.overloadpacket.__name__, args, result):
            self._count(result.dtype)
        return out

    def _count(self, dtype: torch.dtype) -> None:
        self.tally.gemm[dtype_name(dtype)] += 1
        if dtype == self.candidate.dtype or allowed(self.stack.current, self.allowed):
            return
        self.tally.blame(Offender(self.stack.current, "gemm", dtype_name(dtype)))


def count_state(tally: Tally, candidate: Candidate, model: nn.Module, allow_float32: Iterable[str] = ()) -> None:
    """Count parameters and buffers of a prepared model, and blame those that break the candidate's policy.

    Half: matrices in the dtype; vectors (gains, biases) and buffers may be wider, as norms and rotary tables often are.
    Autocast and float32: nothing narrower than float32, and parameters float32.
    """
    patterns = tuple(allow_float32)
    held = candidate.dtype if not candidate.autocast else torch.float32
    for name, tensor in model.named_parameters():
        if tensor.is_floating_point():
            tally.parameters[dtype_name(tensor.dtype)] += 1
            wide_enough = held in NARROW and tensor.dim() < 2 and tensor.dtype not in NARROW
            if tensor.dtype != held and not wide_enough and not allowed(name, patterns):
                tally.blame(Offender(name, "parameter", dtype_name(tensor.dtype)))
    for name, buffer in model.named_buffers():
        if buffer.is_floating_point():
            tally.buffers[dtype_name(buffer.dtype)] += 1
            if buffer.dtype != held and buffer.element_size() < 4:
                tally.blame(Offender(name, "buffer", dtype_name(buffer.dtype)))


def dtype_name(dtype: torch.dtype) -> str:
    """`torch.float16` -> `float16`."""
    return str(dtype).removeprefix("torch.")


def _narrower(candidate: Candidate) -> frozenset[torch.dtype]:
    """Return the half-width dtypes that a run of this candidate never shows."""
    return NARROW - {candidate.dtype}


def _is_gemm(name: str, args: tuple[Any, ...], result: Tensor) -> bool:
    """Tell GEMMs, convolutions, attention and recurrent layers from elementwise work."""
    if "convolution" in name or name.startswith("_scaled_dot_product") or name in RECURRENT:
        return True
    if name not in MATMULS:
        return False
    left = args[MATMULS[name]]
    outer = left.shape[-1] <= 1
    dot = result.numel() <= (result.shape[0] if name in {"bmm", "baddbmm"} and result.dim() else 1)
    return not outer and not dot
