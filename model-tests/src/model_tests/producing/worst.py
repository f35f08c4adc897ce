"""Which layers INT8 hurts most: each is put back to float32 alone, and the loss measured again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn

from model_tests.int8.layers import WeightOnly
from model_tests.int8.quantise import Quantised

# Layers that are tried, coarsest first, seconds for all of them, and how many are told.
MOST_TRIED = 64
SECONDS = 20.0
TOLD = 5


def worst_layers(made: Quantised, plain: nn.Module, loss: Callable[[nn.Module], float]) -> list[dict[str, Any]]:
    """Return [{name, share}]: the part of the loss that goes when this layer alone stays in float32, largest first.

    `plain` is the same model in float32; `loss` runs a model on some rows. Only shares above 0 are told, and none when
    these rows lose nothing: then others do.
    """
    whole, until = loss(made.model), time.monotonic() + SECONDS
    if not whole > 0.0:
        return []
    shares: dict[str, float] = {}
    for name in sorted(made.layers, key=lambda name: -_coarseness(made.model.get_submodule(name)))[:MOST_TRIED]:
        with _in_float32(made.model, name, plain.get_submodule(name)):
            shares[name] = 1.0 - loss(made.model) / whole
        if time.monotonic() > until:
            break
    ranked = sorted(shares.items(), key=lambda item: -item[1])[:TOLD]
    return [{"name": name, "share": share} for name, share in ranked if share > 0]


def _coarseness(layer: nn.Module) -> float:
    """How large a step of int8 is beside a usual weight of the layer: outliers make it large."""
    if not isinstance(layer, WeightOnly):
        return 0.0
    usual = layer.int8_weight.abs().float().median().item()
    return 1.0 / max(usual, 0.5)


@contextmanager
def _in_float32(model: nn.Module, name: str, plain: nn.Module) -> Iterator[None]:
    """Put the float32 layer in place of the INT8 one."""
    parent = model.get_submodule(name.rpartition(".")[0])
    own = name.rpartition(".")[2]
    narrow = parent._modules[own]
    parent._modules[own] = plain
    try:
        yield
    finally:
        parent._modules[own] = narrow
