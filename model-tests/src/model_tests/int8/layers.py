"""A layer whose weight is int8: the student's own module of the same class, with the float weight taken away.

The class is extended in place, as torch.nn.utils.parametrize does it: whatever the module's forward does with
`self.weight` (groups, padding modes, a forward of the student's own), it goes on doing.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from model_tests.int8.product import LARGEST, product


class WeightOnly(nn.Module):
    """Mixed into a layer's class: int8 weights with a float32 scale per output channel, dequantised when read."""

    int8_weight: Tensor
    int8_scale: nn.Parameter

    @property
    def weight(self) -> Tensor:
        """The float32 weight that the int8 values stand for."""
        return self.int8_weight * self.int8_scale


class Dynamic(WeightOnly):
    """The input is rounded to int8 too, a scale per sample; the product of the integers is computed in float32.

    For convolutions and for layers with a forward of their own: torch has no INT8 convolution in eager mode, and the
    integers are the same.
    """

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The layer's own forward on the rounded input: its first argument, by whatever name it is given."""
        if args:
            return super().forward(self._narrow(args[0]), *args[1:], **kwargs)
        name = next(iter(kwargs))
        return super().forward(**kwargs | {name: self._narrow(kwargs[name])})

    def _narrow(self, x: Tensor) -> Tensor:
        first = x.dim() - self.int8_weight.dim() + 1  # 0 for a convolution of a sample without a batch
        over = tuple(range(first, x.dim())) if isinstance(self, CONVOLUTIONS) else (-1,)
        values, scale = rounded(x.float(), over)
        return (values * scale).to(x.dtype)


class DynamicLinear(WeightOnly):
    """nn.Linear as an INT8 product: the input rounded to int8 with a scale per row, sums in int32."""

    bias: Tensor | None

    def forward(self, input: Tensor) -> Tensor:
        """[..., in] -> [..., out], in the dtype of the input; named as nn.Linear names it."""
        values, scale = rounded(input.float(), (-1,))
        rows = values.to(torch.int8).reshape(-1, input.shape[-1])
        sums = product(rows, self.int8_weight).reshape(*input.shape[:-1], self.int8_weight.shape[0])
        answer = sums * scale * self.int8_scale.reshape(-1)
        return (answer if self.bias is None else answer + self.bias).to(input.dtype)


CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
LAYERS = (nn.Linear, *CONVOLUTIONS)


def rounded(x: Tensor, over: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Return whole numbers from -127 to 127, as floats, and their scale: symmetric, one for all dimensions `over`.

    The scale of values that are not finite is not finite, so that they show in the answer.
    """
    scale = x.abs().amax(over, keepdim=True) / LARGEST
    scale = torch.where(scale == 0, torch.ones_like(scale), scale)
    return (x / scale).round().clamp(-LARGEST, LARGEST), scale


def quantised_weight(layer: nn.Module, weight: Tensor) -> tuple[Tensor, nn.Parameter]:
    """Return int8 weights and float32 scales, one per output channel, in a shape that broadcasts.

    The scales are a parameter: models ask `next(self.parameters())` for their device and dtype.
    """
    channel = 1 if isinstance(layer, CONVOLUTIONS) and layer.transposed else 0
    values, scale = rounded(weight.detach().float(), tuple(d for d in range(weight.dim()) if d != channel))
    return values.to(torch.int8), nn.Parameter(scale, requires_grad=False)


def replace_weight(layer: nn.Module, values: Tensor, scale: nn.Parameter, dynamic: bool) -> None:
    """Make `layer` one of the classes above, in place."""
    del layer._parameters["weight"]
    layer.register_buffer("int8_weight", values)
    layer.register_parameter("int8_scale", scale)
    base = WeightOnly
    if dynamic:
        base = DynamicLinear if type(layer) is nn.Linear else Dynamic
    layer.__class__ = _extended(type(layer), base)  # type: ignore[arg-type] # a class can be hashed


@cache
def _extended(own: type[nn.Module], base: type[WeightOnly]) -> type[nn.Module]:
    return type(own.__name__, (base, own), {})
