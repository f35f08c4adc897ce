"""The precisions a project can declare: a whole model in half precision, or float32 weights under autocast."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn

# Largest relative error of one rounding to nearest (half a unit in the last place).
UNIT_ROUNDOFF = {torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8, torch.float32: 2.0**-24, torch.float64: 2.0**-53}
DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


@dataclass(frozen=True)
class Candidate:
    """A precision: `dtype` is what GEMMs must yield; with `autocast` the parameters stay float32."""

    name: str
    dtype: torch.dtype
    autocast: bool

    @property
    def unit(self) -> float:
        """Unit roundoff of the dtype."""
        return UNIT_ROUNDOFF[self.dtype]

    def prepare(self, model: nn.Module) -> nn.Module:
        """Cast a float32 model as a server would.

        Not `.to(dtype)`, which turns complex buffers (a rotary table) into real ones.
        """
        if self.autocast or self.dtype is torch.float32:
            return model
        cast = {torch.float16: model.half, torch.bfloat16: model.bfloat16, torch.float64: model.double}
        return cast[self.dtype]()

    def inputs(self, inputs: list[Tensor]) -> list[Tensor]:
        """Return fresh copies of the inputs, floating ones in the dtype the model takes."""
        if self.autocast:
            return [x.clone() for x in inputs]
        return [x.to(self.dtype, copy=True) if x.is_floating_point() else x.clone() for x in inputs]

    def context(self, device: str) -> AbstractContextManager[object]:
        """Autocast where declared, else nothing."""
        return torch.autocast(device, dtype=self.dtype) if self.autocast else nullcontext()


FLOAT32 = Candidate("float32", torch.float32, autocast=False)
FLOAT64 = Candidate("float64", torch.float64, autocast=False)


def candidate(name: str) -> Candidate:
    """Read a name of lab.toml: a dtype, or a dtype with `-autocast`."""
    dtype, _, how = name.partition("-")
    return Candidate(name, DTYPES[dtype], autocast=how == "autocast")
