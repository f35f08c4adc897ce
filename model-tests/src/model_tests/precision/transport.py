"""How recorded calls travel in a file: plain dicts of tensors and numbers, and back, believing nothing."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from model_tests.precision.capture import CALL_VALUES, RUN_CALLS, Call, Key, Sample

FLOATING = frozenset({torch.float16, torch.bfloat16, torch.float32, torch.float64})
LONGEST_NAME = 256


class DamagedError(ValueError):
    """A file holds something else than it should; the message says what."""


def pack(calls: list[Call]) -> list[dict[str, Any]]:
    """Turn calls into dicts that torch.load(weights_only=True) reads."""
    return [
        {"key": c.key, "parent": c.parent, "kind": c.kind, "output": _pack(c.output), "input": _pack(c.input)}
        for c in calls
    ]


def _pack(sample: Sample | None) -> dict[str, Any] | None:
    return None if sample is None else {**vars(sample)}


def unpack(raw: object) -> list[Call]:
    """Read calls again; DamagedError when they are not what `pack` writes."""
    if not isinstance(raw, list) or len(raw) > RUN_CALLS:
        raise DamagedError("module calls are not a list")
    return [_call(item) for item in raw]


def _call(raw: object) -> Call:
    if not isinstance(raw, dict):
        raise DamagedError("a module call is not a table")
    key, parent = _key(raw.get("key")), raw.get("parent")
    kind = _name(raw.get("kind"))
    return Call(
        key, None if parent is None else _key(parent), kind, _sample(raw.get("output")), _sample(raw.get("input"))
    )


def _key(raw: object) -> Key:
    if not isinstance(raw, tuple | list) or len(raw) != 2:
        raise DamagedError("a module call has no name and number")
    return _name(raw[0]), _count(raw[1])


def _name(raw: object) -> str:
    if not isinstance(raw, str) or len(raw) > LONGEST_NAME or not (raw.isprintable() or not raw):
        raise DamagedError("a module's name is not a short text")
    return raw


def _count(raw: object) -> int:
    if isinstance(raw, bool) or not isinstance(raw, int) or raw < 0:
        raise DamagedError("a count is not a whole number")
    return raw


def _sample(raw: object) -> Sample | None:
    if raw is None:
        return None
    if not isinstance(raw, dict):
        raise DamagedError("a module's sample is not a table")
    shape = raw.get("shape")
    if not isinstance(shape, tuple | list):
        raise DamagedError("a module's sample has no shape")
    values = plain_tensor(raw.get("values"), "a module's sample", FLOATING)
    if values.dim() != 1 or values.numel() > min(CALL_VALUES, math.prod(shape)):
        raise DamagedError("a module's sample has another size than it says")
    largest = raw.get("max_abs")
    if not isinstance(largest, float):
        raise DamagedError("a module's sample has no maximum")
    counts = [_count(raw.get(name)) for name in ("nan", "inf", "minus_inf")]
    return Sample(tuple(_count(size) for size in shape), values, largest, *counts)


def plain_tensor(raw: object, what: str, dtypes: frozenset[torch.dtype]) -> Tensor:
    """Return a dense CPU tensor of one of these dtypes whose values are all in its storage; DamagedError if not."""
    if type(raw) is not Tensor or raw.layout is not torch.strided or raw.device.type != "cpu":
        raise DamagedError(f"{what} is not a plain tensor")
    if raw.dtype not in dtypes:
        raise DamagedError(f"{what} is {raw.dtype}, not one of " + ", ".join(sorted(map(str, dtypes))))
    if raw.untyped_storage().nbytes() < raw.numel() * raw.element_size():
        raise DamagedError(f"{what} is larger than the file that holds it")
    return raw.detach()
