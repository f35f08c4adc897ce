"""Peak device memory of one forward pass without gradients, part by part.

Formulas and their check against a dry run (FakeTensorMode with MemTracker: -1.3 % to +0.0 %) are in the table of
tests/test_memory_estimate.py. Autocast keeps float32 weights and caches half copies of them; that is not modelled.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from model_tests.memory import llama

GIB = 2**30
ELEMENT_BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}
# CUDA context, cuBLAS workspaces: 0.3 to 1.0 GiB by GPU model. On a CPU it stands for the interpreter and torch.
CONTEXT_BYTES = 6 * GIB // 10
# A caching allocator reserves 5 to 10 % more than its tensors hold; "does it fit" asks about what is reserved.
FRAGMENTATION_DIVISOR = 20


class MemoryInputError(ValueError):
    """A configuration or input that the formulas cannot use; the message names the key of lab.toml."""


@dataclass(frozen=True)
class Estimate:
    """Bytes by cause; activation and logits are not alive at the same time, so the larger one counts."""

    weights: int
    kv: int
    activation: int
    logits: int
    overhead: int

    @property
    def tensors(self) -> int:
        """Bytes of all tensors alive at the peak."""
        return self.weights + self.kv + max(self.activation, self.logits)

    @property
    def total(self) -> int:
        """Bytes that the device must have: tensors, context and fragmentation."""
        return self.tensors + self.overhead


def estimate(
    family: str, config: Mapping[str, Any], inputs: Sequence[Mapping[str, Any]], dtype: str
) -> Estimate | None:
    """Estimate a prefill of `inputs` (lab.toml's [[inputs]]: the first one is [batch, tokens]) with weights in `dtype`.

    Returns None when the family is unknown. MemoryInputError when a key is missing or out of range.
    """
    if family != "llama":
        return None
    if dtype not in ELEMENT_BYTES:
        raise MemoryInputError(f'dtype "{dtype}" has no known size; allowed: {", ".join(ELEMENT_BYTES)}')
    shape = llama.Shape.from_config(_whole_numbers(config, llama.REQUIRED))
    batch, tokens = _batch_and_tokens(inputs)
    size = ELEMENT_BYTES[dtype]
    weights = shape.parameters * size
    kv = batch * tokens * shape.kv_per_token * size
    activation = batch * tokens * shape.activation_per_token * size
    logits = batch * tokens * shape.vocab_size * size
    return Estimate(weights, kv, activation, logits, overhead(weights + kv + max(activation, logits)))


def overhead(tensors: int) -> int:
    """Bytes that a process needs on the device beside `tensors` bytes of tensors."""
    return CONTEXT_BYTES + tensors // FRAGMENTATION_DIVISOR


def _whole_numbers(config: Mapping[str, Any], required: Sequence[str]) -> dict[str, int]:
    for key in required:
        if key not in config:
            raise MemoryInputError(f"[model.config] {key} is missing: the family llama needs {', '.join(required)}")
    keys = (*required, *(key for key in llama.OPTIONAL if config.get(key) is not None))
    for key in keys:
        value = config[key]
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise MemoryInputError(f"[model.config] {key} = {value!r}: a whole number of at least 1 is needed")
    return {key: config[key] for key in keys}


def _batch_and_tokens(inputs: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    shape = inputs[0].get("shape") if inputs else None
    if not isinstance(shape, list | tuple) or len(shape) != 2 or not all(_positive(size) for size in shape):
        raise MemoryInputError(f"[[inputs]] shape = {shape!r}: the family llama needs [batch, tokens], both at least 1")
    return shape[0], shape[1]


def _positive(size: object) -> bool:
    return isinstance(size, int) and not isinstance(size, bool) and size >= 1
