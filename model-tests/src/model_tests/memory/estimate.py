"""Peak device memory of one forward pass without gradients, part by part.

Formulas and their check against a dry run (`memory.dryrun`: FakeTensorMode with MemTracker, within 2 %) are in
tests/test_memory_dryrun.py. Autocast keeps float32 weights and caches half copies of them; that is not modelled.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from model_tests.memory import llama, resnet50
from model_tests.memory.parts import ELEMENT_BYTES, MemoryInputError, Parts

GIB = 2**30
# CUDA context, cuBLAS workspaces: 0.3 to 1.0 GiB by GPU model. On a CPU it stands for the interpreter and torch.
CONTEXT_BYTES = 6 * GIB // 10
# A caching allocator reserves 5 to 10 % more than its tensors hold; "does it fit" asks about what is reserved.
FRAGMENTATION_DIVISOR = 20

Formula = Callable[[Mapping[str, Any], list[Mapping[str, Any]], int], Parts]
FORMULAS: Mapping[str, Formula] = {"llama": llama.parts, "resnet50": resnet50.parts}
"""Family -> formula; another family is measured by a dry run, not guessed."""


@dataclass(frozen=True)
class Estimate:
    """Bytes by cause; activation and logits are not alive at the same time, so the larger one counts.

    `activation` and `logits` hold the inputs too; `buffers` are a batch norm's statistics.
    """

    weights: int
    buffers: int
    kv: int
    activation: int
    logits: int
    overhead: int

    @property
    def tensors(self) -> int:
        """Bytes of all tensors alive at the peak."""
        return self.weights + self.buffers + self.kv + max(self.activation, self.logits)

    @property
    def total(self) -> int:
        """Bytes that the device must have: tensors, context and fragmentation."""
        return self.tensors + self.overhead


def estimate(
    family: str, config: Mapping[str, Any], inputs: Sequence[Mapping[str, Any]], dtype: str
) -> Estimate | None:
    """Estimate a forward pass over `inputs` (lab.toml's [[inputs]]) with weights in `dtype`.

    Returns None when the family has no formula. MemoryInputError when a key is missing or out of range.
    """
    formula = FORMULAS.get(family)
    if formula is None:
        return None
    if dtype not in ELEMENT_BYTES:
        raise MemoryInputError(f'dtype "{dtype}" has no known size; allowed: {", ".join(ELEMENT_BYTES)}')
    found = formula(config, list(inputs), ELEMENT_BYTES[dtype])
    alive = found.weights + found.buffers + found.kv + max(found.activation, found.logits)
    return Estimate(found.weights, found.buffers, found.kv, found.activation, found.logits, overhead(alive))


def overhead(tensors: int) -> int:
    """Bytes that a process needs on the device beside `tensors` bytes of tensors."""
    return CONTEXT_BYTES + tensors // FRAGMENTATION_DIVISOR


def config_of(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a spec's configuration with what its reference implies: the platform's LLaMA keeps scores and no cache."""
    implied = llama.REFERENCE if spec.get("reference") == "llama" else {}
    return {**implied, **spec["config"]}
