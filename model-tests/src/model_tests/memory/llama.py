"""The sizes of a LLaMA: RMSNorm, rotary attention with grouped key/value heads, SwiGLU, an output head."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from model_tests.memory.parts import MemoryInputError, Parts, input_bytes, whole_numbers

REQUIRED = ("vocab_size", "hidden_size", "layers", "heads", "kv_heads", "ffn_size")
OPTIONAL = ("head_dim",)
# Hugging Face's names, if a factory has such arguments: one matrix for embedding and head, no keys and values kept
# beyond a layer, attention that holds its scores ("eager") or does not ("sdpa", "flash_attention_2").
FLAGS: Mapping[str, Any] = {"tie_word_embeddings": False, "use_cache": True, "attn_implementation": "sdpa"}
REFERENCE: Mapping[str, Any] = {"use_cache": False, "attn_implementation": "eager"}
"""How the platform's own reference, and a project with its layers, computes unless [model.config] says otherwise."""


@dataclass(frozen=True)
class Shape:
    """The numbers that decide memory; every property counts elements, not bytes."""

    vocab_size: int
    hidden_size: int
    layers: int
    heads: int
    kv_heads: int
    ffn_size: int
    head_dim: int
    tied: bool = False

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "Shape":
        """Read the factory's arguments; head_dim comes from the configuration and is derived only when absent."""
        sizes = whole_numbers("llama", config, REQUIRED, OPTIONAL)
        derived = sizes["hidden_size"] // sizes["heads"]
        return cls(**{"head_dim": derived, **sizes}, tied=bool(config.get("tie_word_embeddings", False)))

    @property
    def parameters(self) -> int:
        """All parameters; embedding and output head are one matrix when tied, else two."""
        attention = 2 * self.hidden_size * (self.heads + self.kv_heads) * self.head_dim
        layer = attention + 3 * self.hidden_size * self.ffn_size + 2 * self.hidden_size
        matrices = 1 if self.tied else 2
        return matrices * self.vocab_size * self.hidden_size + self.layers * layer + self.hidden_size

    @property
    def kv_per_token(self) -> int:
        """Keys and values that every layer keeps for one token."""
        return 2 * self.layers * self.kv_heads * self.head_dim

    def feed_forward_per_token(self, eager: bool) -> int:
        """Peak of one layer's prefill: SwiGLU's three tensors and hidden-sized ones, four in Hugging Face's layer."""
        return (3 if eager else 4) * self.hidden_size + 3 * self.ffn_size

    def logits_per_token(self, eager: bool) -> int:
        """The logits, and what they are made from."""
        return self.vocab_size + (2 if eager else 1) * self.hidden_size

    def scores_bytes(self, batch: int, tokens: int, size: int) -> int:
        """Attention that holds its scores: them, a copy and the softmax in at least float32, the mask, q, k and v."""
        scores = batch * self.heads * tokens**2 * (size + 2 * max(size, 4)) + tokens**2
        return scores + batch * tokens * (2 * self.hidden_size + 3 * self.heads * self.head_dim) * size


def parts(config: Mapping[str, Any], inputs: list[Mapping[str, Any]], size: int) -> Parts:
    """Bytes by cause of a prefill of [batch, tokens] with all logits; `size` is bytes per element.

    MemoryInputError when a key is missing or out of range.
    """
    shape = Shape.from_config(config)
    batch, tokens = _batch_and_tokens(inputs)
    flags = {**FLAGS, **{key: config[key] for key in FLAGS if key in config}}
    count, eager = batch * tokens, flags["attn_implementation"] == "eager"
    activation = count * shape.feed_forward_per_token(eager) * size
    if eager:
        activation = max(activation, shape.scores_bytes(batch, tokens, size))
    return Parts(
        weights=shape.parameters * size,
        buffers=0,
        kv=count * shape.kv_per_token * size if flags["use_cache"] else 0,
        activation=activation + input_bytes(inputs, size),
        logits=count * shape.logits_per_token(eager) * size + input_bytes(inputs, size),
    )


def _batch_and_tokens(inputs: list[Mapping[str, Any]]) -> tuple[int, int]:
    shape = inputs[0].get("shape") if inputs else None
    if not isinstance(shape, list | tuple) or len(shape) != 2 or not all(_positive(size) for size in shape):
        raise MemoryInputError(f"[[inputs]] shape = {shape!r}: the family llama needs [batch, tokens], both at least 1")
    return shape[0], shape[1]


def _positive(size: object) -> bool:
    return isinstance(size, int) and not isinstance(size, bool) and size >= 1
