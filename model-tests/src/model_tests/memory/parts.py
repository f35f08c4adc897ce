"""What every family's formula returns, and how it reads the contract."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ELEMENT_BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}


class MemoryInputError(ValueError):
    """A configuration or input that the formulas cannot use; the message names the key of lab.toml."""


@dataclass(frozen=True)
class Parts:
    """Bytes by cause; activation and logits are not alive at the same time."""

    weights: int
    buffers: int
    kv: int
    activation: int
    logits: int


def whole_numbers(
    family: str, config: Mapping[str, Any], required: Sequence[str], optional: Sequence[str]
) -> dict[str, int]:
    """Return the keys that are there, each a whole number of at least 1; MemoryInputError names one that is not."""
    for key in required:
        if key not in config:
            raise MemoryInputError(f"[model.config] {key} is missing: the family {family} needs {', '.join(required)}")
    keys = (*required, *(key for key in optional if config.get(key) is not None))
    for key in keys:
        value = config[key]
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise MemoryInputError(f"[model.config] {key} = {value!r}: a whole number of at least 1 is needed")
    return {key: config[key] for key in keys}


def input_bytes(inputs: Sequence[Mapping[str, Any]], size: int) -> int:
    """Bytes of the inputs themselves: floating ones have the model's `size` per element, indices 8."""
    return sum(math.prod(entry["shape"]) * (8 if entry.get("dtype") == "int64" else size) for entry in inputs)
