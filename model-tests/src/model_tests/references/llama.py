"""A small LLaMA (RMSNorm, rotary positions, grouped-query attention, SwiGLU), written to be right and not fast.

Everything is computed in the dtype of the parameters, statistics and rotary frequencies too, so that `.double()` is a
true fp64 model. Only below float32 are the statistics and the frequencies kept in float32, as LLaMA's own code does.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

EPSILON = 1e-5
THETA = 10000.0


def wide(dtype: torch.dtype) -> torch.dtype:
    """Return the dtype for statistics and angles: the parameters' own, and at least float32."""
    return torch.promote_types(dtype, torch.float32)


class RMSNorm(nn.Module):
    """x / sqrt(mean(x^2) + 1e-5) * weight over the last dimension."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x: Tensor) -> Tensor:
        """[..., size] -> [..., size]."""
        h = x.to(wide(x.dtype))
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + EPSILON)
        return h.to(x.dtype) * self.weight


class Rope(nn.Module):
    """Rotary positions, theta 10000, pairs (x[i], x[i + d/2]); holds no state, so that fp64 means fp64."""

    def forward(self, x: Tensor) -> Tensor:
        """[batch, heads, time, d] -> the same, each position rotated by its angles."""
        half = x.shape[-1] // 2
        dtype = wide(x.dtype)
        inverse = THETA ** -(torch.arange(half, dtype=dtype, device=x.device) / half)
        angles = torch.arange(x.shape[-2], dtype=dtype, device=x.device)[:, None] * inverse
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        first, second = x[..., :half], x[..., half:]
        return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


class Attention(nn.Module):
    """Causal attention with `kv_heads` shared by groups of query heads."""

    def __init__(self, hidden_size: int, heads: int, kv_heads: int) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.head_size = heads, kv_heads, hidden_size // heads
        self.wq = nn.Linear(hidden_size, heads * self.head_size, bias=False)
        self.wk = nn.Linear(hidden_size, kv_heads * self.head_size, bias=False)
        self.wv = nn.Linear(hidden_size, kv_heads * self.head_size, bias=False)
        self.wo = nn.Linear(heads * self.head_size, hidden_size, bias=False)
        self.rope = Rope()

    def forward(self, x: Tensor) -> Tensor:
        """[batch, time, hidden] -> [batch, time, hidden]."""
        batch, time, _ = x.shape
        q = self.rope(self._split(self.wq(x), self.heads))
        k = self.rope(self._split(self.wk(x), self.kv_heads))
        v = self._split(self.wv(x), self.kv_heads)
        groups = self.heads // self.kv_heads
        k, v = k.repeat_interleave(groups, dim=1), v.repeat_interleave(groups, dim=1)
        scores = q @ k.transpose(-1, -2) / self.head_size**0.5
        future = torch.ones(time, time, dtype=torch.bool, device=x.device).triu(1)
        weights = scores.to(wide(x.dtype)).masked_fill(future, float("-inf")).softmax(-1).to(v.dtype)
        out: Tensor = self.wo((weights @ v).transpose(1, 2).reshape(batch, time, -1))
        return out

    def _split(self, x: Tensor, heads: int) -> Tensor:
        """[batch, time, heads * d] -> [batch, heads, time, d]."""
        return x.view(x.shape[0], x.shape[1], heads, self.head_size).transpose(1, 2)


class FeedForward(nn.Module):
    """SwiGLU: down(silu(gate(x)) * up(x))."""

    def __init__(self, hidden_size: int, ffn_size: int) -> None:
        super().__init__()
        self.gate = nn.Linear(hidden_size, ffn_size, bias=False)
        self.up = nn.Linear(hidden_size, ffn_size, bias=False)
        self.down = nn.Linear(ffn_size, hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """[..., hidden] -> [..., hidden]."""
        out: Tensor = self.down(nn.functional.silu(self.gate(x)) * self.up(x))
        return out


class Block(nn.Module):
    """Pre-norm transformer block."""

    def __init__(self, hidden_size: int, heads: int, kv_heads: int, ffn_size: int) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(hidden_size)
        self.attention = Attention(hidden_size, heads, kv_heads)
        self.ffn_norm = RMSNorm(hidden_size)
        self.feed_forward = FeedForward(hidden_size, ffn_size)

    def forward(self, x: Tensor) -> Tensor:
        """[batch, time, hidden] -> [batch, time, hidden]."""
        x = x + self.attention(self.attention_norm(x))
        out: Tensor = x + self.feed_forward(self.ffn_norm(x))
        return out


class Llama(nn.Module):
    """Token ids [batch, time] -> logits [batch, time, vocab]; the head is not tied to the embedding."""

    def __init__(
        self, vocab_size: int, hidden_size: int, layers: int, heads: int, kv_heads: int, ffn_size: int
    ) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocab_size, hidden_size)
        self.layers = nn.ModuleList(Block(hidden_size, heads, kv_heads, ffn_size) for _ in range(layers))
        self.norm = RMSNorm(hidden_size)
        self.head = nn.Linear(hidden_size, vocab_size, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """int64 [batch, time] -> logits [batch, time, vocab] in the parameters' dtype."""
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        logits: Tensor = self.head(self.norm(x))
        return logits


def build(
    vocab_size: int, hidden_size: int, layers: int, heads: int, kv_heads: int, ffn_size: int, context: int
) -> Llama:
    """Build the model in eval mode; `context` bounds the student's tables and changes nothing here.

    ValueError when the sizes cannot form heads.
    """
    if hidden_size % heads or heads % kv_heads or (hidden_size // heads) % 2:
        raise ValueError("hidden_size must divide into heads of even size, and heads into kv_heads")
    if context < 1:
        raise ValueError("context must be at least 1")
    return Llama(vocab_size, hidden_size, layers, heads, kv_heads, ffn_size).eval()
