"""A small LLaMA, short enough to read in one sitting. This is the file you edit.

`build()` is called with the keys of `[model.config]` in lab.toml. The course compares your model with its own
reference, layer by layer, after copying your weights into it: rename a layer only together with
`reference = ""` in lab.toml.

Shapes in comments: B batch, T tokens of this call, S tokens seen in all (T without a cache), D head size.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class RMSNorm(nn.Module):
    """Scale every token to unit root mean square, then by a learned weight."""

    def __init__(self, size: int, eps: float = 1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x: Tensor) -> Tensor:
        # In float16 a square overflows above 256 and loses its digits below 0.008, so the mean is taken in float32.
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        scale = torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + self.eps)
        return (wide * scale).to(x.dtype) * self.weight


class RoPE(nn.Module):
    """Rotary position embedding: turn each pair of numbers by an angle that grows with the token's position.

    Pairs are the halves of a head, (0, D/2), (1, D/2 + 1), …, as in the published checkpoints for `transformers`.
    """

    def __init__(self, head_size: int, context: int, theta: float = 10_000.0):
        super().__init__()
        # In float64 until the last step: position 1000 times a rounded frequency is a different angle.
        frequencies = theta ** (-torch.arange(0, head_size, 2, dtype=torch.float64) / head_size)
        angles = torch.outer(torch.arange(context, dtype=torch.float64), frequencies).repeat(1, 2)
        self.register_buffer("cos", angles.cos().float(), persistent=False)
        self.register_buffer("sin", angles.sin().float(), persistent=False)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """Rotate `x` [B, heads, T, D], whose first token stands at position `start`."""
        cos, sin = self.cos[start : start + x.shape[2]], self.sin[start : start + x.shape[2]]
        first, second = x.chunk(2, dim=-1)
        return (x * cos + torch.cat((-second, first), dim=-1) * sin).to(x.dtype)


class KVCache:
    """Keys and values of the tokens seen so far, so that a new token is computed without its predecessors."""

    def __init__(self) -> None:
        self._layers: dict[int, tuple[Tensor, Tensor]] = {}

    def length(self, layer: int = 0) -> int:
        """How many tokens a layer has seen."""
        return self._layers[layer][0].shape[2] if layer in self._layers else 0

    def extend(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Append [B, kv_heads, T, D] to a layer; returns all of its keys and values, [B, kv_heads, S, D]."""
        if layer in self._layers:
            seen_keys, seen_values = self._layers[layer]
            keys, values = torch.cat((seen_keys, keys), dim=2), torch.cat((seen_values, values), dim=2)
        self._layers[layer] = (keys, values)
        return keys, values


class Attention(nn.Module):
    """Causal attention with grouped queries: each of the few key/value heads serves several query heads."""

    def __init__(self, index: int, hidden_size: int, heads: int, kv_heads: int, context: int):
        super().__init__()
        self.index, self.heads, self.kv_heads, self.head_size = index, heads, kv_heads, hidden_size // heads
        self.wq = nn.Linear(hidden_size, heads * self.head_size, bias=False)
        self.wk = nn.Linear(hidden_size, kv_heads * self.head_size, bias=False)
        self.wv = nn.Linear(hidden_size, kv_heads * self.head_size, bias=False)
        self.wo = nn.Linear(heads * self.head_size, hidden_size, bias=False)
        self.rope = RoPE(self.head_size, context)

    def forward(self, x: Tensor, cache: KVCache | None = None) -> Tensor:
        batch, length, _ = x.shape
        start = cache.length(self.index) if cache is not None else 0
        q = self.wq(x).view(batch, length, self.heads, self.head_size).transpose(1, 2)  # [B, heads, T, D]
        k = self.wk(x).view(batch, length, self.kv_heads, self.head_size).transpose(1, 2)  # [B, kv_heads, T, D]
        v = self.wv(x).view(batch, length, self.kv_heads, self.head_size).transpose(1, 2)
        q, k = self.rope(q, start), self.rope(k, start)
        if cache is not None:
            k, v = cache.extend(self.index, k, v)  # [B, kv_heads, S, D]
        k, v = (heads.repeat_interleave(self.heads // self.kv_heads, dim=1) for heads in (k, v))
        # Token t sees itself and its predecessors: True on and below the diagonal.
        visible = torch.ones(length, start + length, dtype=torch.bool, device=x.device).tril(diagonal=start)
        # softmax(q · kᵀ / √D) · v in one kernel, which keeps the scores in float32 also when q, k and v are half.
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=visible)
        return self.wo(y.transpose(1, 2).reshape(batch, length, -1))


class FeedForward(nn.Module):
    """SwiGLU: one projection opens and closes the gate of another."""

    def __init__(self, hidden_size: int, ffn_size: int):
        super().__init__()
        self.gate = nn.Linear(hidden_size, ffn_size, bias=False)
        self.up = nn.Linear(hidden_size, ffn_size, bias=False)
        self.down = nn.Linear(ffn_size, hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    """One layer: attention, then feed-forward, each added to the residual stream."""

    def __init__(self, index: int, hidden_size: int, heads: int, kv_heads: int, ffn_size: int, context: int):
        super().__init__()
        self.index = index
        self.attention_norm = RMSNorm(hidden_size)
        self.attention = Attention(index, hidden_size, heads, kv_heads, context)
        self.ffn_norm = RMSNorm(hidden_size)
        self.feed_forward = FeedForward(hidden_size, ffn_size)

    def forward(self, x: Tensor, cache: KVCache | None = None) -> Tensor:
        x = x + self.attention(self.attention_norm(x), cache)
        return x + self.feed_forward(self.ffn_norm(x))


class Llama(nn.Module):
    """Tokens in, one row of logits per token out."""

    def __init__(
        self, vocab_size: int, hidden_size: int, layers: int, heads: int, kv_heads: int, ffn_size: int, context: int
    ):
        super().__init__()
        if hidden_size % (2 * heads):
            raise ValueError(f"hidden_size = {hidden_size} must be a multiple of 2 * heads = {2 * heads}")
        if heads % kv_heads:
            raise ValueError(f"heads = {heads} must be a multiple of kv_heads = {kv_heads}")
        self.context = context
        self.embed = nn.Embedding(vocab_size, hidden_size)
        self.layers = nn.ModuleList(
            Block(index, hidden_size, heads, kv_heads, ffn_size, context) for index in range(layers)
        )
        self.norm = RMSNorm(hidden_size)
        self.head = nn.Linear(hidden_size, vocab_size, bias=False)

    def forward(self, tokens: Tensor, cache: KVCache | None = None) -> Tensor:
        """Logits [B, T, vocab_size] of `tokens` [B, T]; with a cache, `tokens` are those it has not seen yet."""
        seen = cache.length() if cache is not None else 0
        if seen + tokens.shape[1] > self.context:
            raise ValueError(f"{seen + tokens.shape[1]} tokens, but the model's context is {self.context}")
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, cache)
        return self.head(self.norm(x))


def build(
    vocab_size: int, hidden_size: int, layers: int, heads: int, kv_heads: int, ffn_size: int, context: int
) -> Llama:
    """The model in float32, ready for inference; the caller sets the seed of its random weights."""
    return Llama(vocab_size, hidden_size, layers, heads, kv_heads, ffn_size, context).float().eval()


def example_inputs(batch: int = 4, length: int = 64, vocab_size: int = 512) -> tuple[Tensor, ...]:
    """Arguments for the model's forward: random tokens [batch, length], always the same."""
    return (torch.randint(vocab_size, (batch, length), generator=torch.Generator().manual_seed(0)),)


@torch.inference_mode()
def generate(model: Llama, tokens: Tensor, steps: int) -> Tensor:
    """Append the likeliest token `steps` times; returns [B, T + steps].

    The prompt is read once (prefill); after that only the newest token is computed (decode).
    """
    cache, new = KVCache(), tokens
    for _ in range(steps):
        new = model(new, cache)[:, -1:].argmax(dim=-1)
        tokens = torch.cat((tokens, new), dim=1)
    return tokens
