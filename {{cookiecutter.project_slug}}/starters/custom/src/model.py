"""A small text encoder, as an example of a model of your own. This is the file you edit, or replace.

Any PyTorch module will do if `build()` returns it in float32 and in eval mode, and its forward takes the [[inputs]] of
lab.toml in their order and returns one Tensor, the batch first. The course has no reference for it, so each precision
is held against the model's own float64: that finds lost digits, not a wrong formula. Test formulas in tests/.

Shapes in comments: B batch, T tokens, W width.
"""

import torch.nn.functional as F
from torch import Tensor, nn


class Attention(nn.Module):
    """Every token looks at every other token that is no padding."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor, visible: Tensor) -> Tensor:
        """[B, T, W] -> [B, T, W]; `visible` is bool [B, T]."""
        batch, length, width = x.shape
        heads = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = heads.permute(2, 0, 3, 1, 4)  # each [B, heads, T, W / heads]
        # A boolean mask works in every dtype; adding -1e9 does not, for float16 ends at 65504.
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=visible[:, None, None, :])
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """One layer: attention, then a feed-forward, each added to what came in."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width), Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor, visible: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x), visible)
        return x + self.narrow(F.gelu(self.wide(self.norm2(x))))


class Encoder(nn.Module):
    """Token ids and a mask in, one vector per text out."""

    def __init__(self, vocab_size: int, width: int, layers: int, heads: int, context: int):
        super().__init__()
        if min(vocab_size, width, layers, heads, context) < 1 or width % heads:
            raise ValueError(f"sizes must be at least 1, and width = {width} a multiple of heads = {heads}")
        self.context = context
        self.words, self.places = nn.Embedding(vocab_size, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """[B, T] and [B, T] (1 a token, 0 padding) -> [B, W]: the mean over each text's tokens."""
        length = input_ids.shape[1]
        if length > self.context:
            raise ValueError(f"{length} tokens, but the model's context is {self.context}")
        if attention_mask.shape != input_ids.shape:
            raise ValueError(f"attention_mask is {list(attention_mask.shape)}, input_ids {list(input_ids.shape)}")
        visible = attention_mask.bool()
        visible = visible | ~visible.any(dim=1, keepdim=True)  # a text of padding only is read as it stands: no 0 / 0
        x = self.words(input_ids) + self.places.weight[:length]
        for block in self.blocks:
            x = block(x, visible)
        kept = visible[:, :, None]
        return (self.norm(x) * kept).sum(dim=1) / kept.sum(dim=1)


def build(vocab_size: int, width: int, layers: int, heads: int, context: int) -> Encoder:
    """The model in float32, ready for inference; the caller sets the seed of its random weights."""
    return Encoder(vocab_size, width, layers, heads, context).float().eval()
