"""The sizes of a LLaMA: RMSNorm, rotary attention with grouped key/value heads, SwiGLU, an output head of its own."""

from collections.abc import Mapping
from dataclasses import dataclass

REQUIRED = ("vocab_size", "hidden_size", "layers", "heads", "kv_heads", "ffn_size")
OPTIONAL = ("head_dim",)


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

    @classmethod
    def from_config(cls, config: Mapping[str, int]) -> "Shape":
        """Read the factory's arguments; head_dim comes from the configuration and is derived only when absent."""
        derived = config["hidden_size"] // config["heads"]
        return cls(**{"head_dim": derived, **{key: config[key] for key in (*REQUIRED, *OPTIONAL) if key in config}})

    @property
    def parameters(self) -> int:
        """All parameters; the embedding and the output head are two matrices (not tied)."""
        attention = 2 * self.hidden_size * (self.heads + self.kv_heads) * self.head_dim
        layer = attention + 3 * self.hidden_size * self.ffn_size + 2 * self.hidden_size
        return 2 * self.vocab_size * self.hidden_size + self.layers * layer + self.hidden_size

    @property
    def kv_per_token(self) -> int:
        """Keys and values that every layer keeps for one token."""
        return 2 * self.layers * self.kv_heads * self.head_dim

    @property
    def activation_per_token(self) -> int:
        """Peak of one layer's prefill: four hidden-sized tensors and SwiGLU's three."""
        return 4 * self.hidden_size + 3 * self.ffn_size
