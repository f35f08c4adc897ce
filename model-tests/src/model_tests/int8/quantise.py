"""A float32 model in INT8: `quantise(model, scheme)`, what became int8, what did not and why.

Our own, though torchao does it well: it runs in the student's image, where only torch is sure to be, and torchao 0.18
costs 28 MB, 11 seconds at import, and a version that fits each torch. torch's own quantize_dynamic is deprecated. The
rounding is what both do by default: symmetric, a scale per output channel, and per row of the input when dynamic.
Weights of layers only: nothing is calibrated or trained.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from torch import nn

from model_tests.int8.layers import LAYERS, quantised_weight, replace_weight


@dataclass(frozen=True)
class Quantised:
    """A model in INT8. `layers` became int8; `kept` have matrices that did not: name -> why (the module's kind,
    `tied` to a module of another kind or to another name, or `parametrized`).

    Bytes are of all parameters and buffers, those that are shared counted once.
    """

    model: nn.Module
    layers: tuple[str, ...]
    kept: dict[str, str]
    bytes_before: int
    bytes_after: int

    def to_dict(self) -> dict[str, Any]:
        """Return the facts for the report, without the model."""
        sizes = {"bytes_before": self.bytes_before, "bytes_after": self.bytes_after}
        return {"layers": len(self.layers), "kept": dict(self.kept), **sizes}


class Quantiser(Protocol):
    """Anything that turns a float32 model into an INT8 one; it may change the model that it is given."""

    def __call__(self, model: nn.Module, scheme: str) -> Quantised:
        """Return the model in that scheme, in eval mode and on its device."""


def quantise(model: nn.Module, scheme: str) -> Quantised:
    """Quantise, in place, the weights of linear and convolution layers of a float32 model in eval mode.

    Left in float32: embeddings, norms, biases, and a weight that another kind of module holds too (a head tied to an
    embedding): the float copy would have to stay, and int8 would only come on top.
    """
    before, holders, done = size(model), _holders(model), {}
    layers: list[str] = []
    kept: dict[str, str] = {}
    for name, module in list(model.named_modules()):
        reason = _reason(module, holders)
        if reason is not None:
            kept |= {name: reason} if reason else {}
            continue
        weight = module._parameters["weight"]
        if id(weight) not in done:
            done[id(weight)] = quantised_weight(module, weight)
        replace_weight(module, *done[id(weight)], dynamic=scheme == "dynamic")
        layers.append(name)
    return Quantised(model, tuple(layers), kept, before, size(model))


def size(model: nn.Module) -> int:
    """Bytes of all parameters and buffers; a tensor with several names counts once."""
    held = {id(t): t for t in (*model.parameters(), *model.buffers())}
    return sum(t.numel() * t.element_size() for t in held.values())


def _holders(model: nn.Module) -> dict[int, list[tuple[nn.Module, str]]]:
    """Which modules hold a parameter, and as what, by its identity."""
    found: dict[int, list[tuple[nn.Module, str]]] = {}
    for module in model.modules():
        for name, parameter in module._parameters.items():
            if parameter is not None:
                found.setdefault(id(parameter), []).append((module, name))
    return found


def _reason(module: nn.Module, holders: dict[int, list[tuple[nn.Module, str]]]) -> str | None:
    """Return why a module stays in float32; None when it is quantised, "" when it has no matrix of its own."""
    matrices = [p for p in module._parameters.values() if p is not None and p.dim() > 1 and p.is_floating_point()]
    if not isinstance(module, LAYERS):
        return type(module).__name__ if matrices else ""
    weight = module._parameters.get("weight")
    if weight is None or not weight.is_floating_point():
        return "parametrized"
    replaced = all(isinstance(m, LAYERS) and name == "weight" for m, name in holders[id(weight)])
    return None if replaced else "tied"
