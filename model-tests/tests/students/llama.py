"""A student's LLaMA, written unlike the reference; FAULT plants a mistake, STYLE another correct way to write it."""

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

FAULT = ""
STYLE = ""


def halved(x):
    return x.dtype in (torch.float16, torch.bfloat16) or torch.is_autocast_enabled(x.device.type)


class RMSNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        epsilon = 1e-3 if FAULT == "epsilon" else 1e-5
        if STYLE == "half":
            return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + epsilon) * self.weight
        if STYLE == "functional":
            return F.rms_norm(x, x.shape[-1:], self.weight.to(x.dtype), epsilon)
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + epsilon)).to(x.dtype) * self.weight


class RoPE(nn.Module):
    def __init__(self, size, context):
        super().__init__()
        theta = 5e5 if FAULT == "rope" else 1e4
        angles = torch.outer(torch.arange(context).double(), theta ** (-torch.arange(0, size, 2).double() / size))
        dtype = torch.float16 if FAULT == "half-buffers" else torch.float32
        self.register_buffer("cos", angles.cos().to(dtype).repeat(1, 2), persistent=False)
        self.register_buffer("sin", angles.sin().to(dtype).repeat(1, 2), persistent=False)

    def forward(self, x):
        cos, sin = self.cos[: x.shape[2]], self.sin[: x.shape[2]]
        if FAULT == "rope-in-half" and halved(x):
            cos, sin = cos.roll(1, 0), sin.roll(1, 0)
        first, second = x.chunk(2, -1)
        return (x * cos + torch.cat((-second, first), -1) * sin).to(x.dtype)


class Attention(nn.Module):
    def __init__(self, hidden, heads, kv_heads, context):
        super().__init__()
        self.heads, self.kv_heads, self.size = heads, kv_heads, hidden // heads
        self.wq = nn.Linear(hidden, hidden, bias=False)
        self.wk = nn.Linear(hidden, kv_heads * self.size, bias=False)
        self.wv = nn.Linear(hidden, kv_heads * self.size, bias=False)
        self.wo = nn.Linear(hidden, hidden, bias=False)
        self.rope = RoPE(self.size, context)

    def forward(self, x):
        b, t, _ = x.shape
        q = self.rope(self.wq(x).view(b, t, self.heads, self.size).transpose(1, 2))
        k = self.rope(self.wk(x).view(b, t, self.kv_heads, self.size).transpose(1, 2))
        v = self.wv(x).view(b, t, self.kv_heads, self.size).transpose(1, 2)
        k, v = (y.repeat_interleave(self.heads // self.kv_heads, 1) for y in (k, v))
        return self.wo(self.mix(q, k, v).transpose(1, 2).reshape(b, t, -1))

    def mix(self, q, k, v):
        t = q.shape[2]
        if STYLE == "half":
            mask = torch.full((t, t), float("-inf"), dtype=q.dtype, device=q.device).triu(1)
            return (q @ k.transpose(-1, -2) / self.size**0.5 + mask).softmax(-1) @ v
        if FAULT == "nan":
            return F.scaled_dot_product_attention(
                q, k, v, attn_mask=torch.ones(t, t, device=q.device).triu(1).to(q.dtype) * float("-inf")
            )
        return F.scaled_dot_product_attention(q, k, v, is_causal=FAULT != "no-mask")


class FeedForward(nn.Module):
    def __init__(self, hidden, ffn):
        super().__init__()
        self.gate = nn.Linear(hidden, ffn, bias=False)
        self.up = nn.Linear(hidden, ffn, bias=False)
        self.down = nn.Linear(ffn, hidden, bias=False)

    def forward(self, x):
        h = F.silu(self.gate(x)) * self.up(x)
        if FAULT == "overflow":
            return self.down(h * 1e5) / 1e5
        if FAULT == "weight":
            return F.linear(h, self.down.weight * 1.01)
        if FAULT == "weight-in-half" and halved(x):
            return F.linear(h, self.down.weight * 1.05)
        if FAULT == "zero-division":
            tiny = h * 1e-9
            return self.down(tiny / tiny.abs().amax(-1, keepdim=True) * h.abs().amax(-1, keepdim=True))
        if FAULT == "tf32":
            h = (
                ((h.contiguous().view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)
                if h.dtype == torch.float32
                else h
            )
        if FAULT == "bfloat16":
            h = h.bfloat16().to(h.dtype)
        if FAULT == "raises-in-half":
            h = h + torch.zeros((), dtype=torch.float32).expand(h.shape)
        return self.down(h)


class Block(nn.Module):
    def __init__(self, index, hidden, heads, kv_heads, ffn, context):
        super().__init__()
        self.index = index
        self.attention_norm = RMSNorm(hidden)
        self.attention = Attention(hidden, heads, kv_heads, context)
        self.ffn_norm = RMSNorm(hidden)
        self.feed_forward = FeedForward(hidden, ffn)

    def forward(self, x):
        if STYLE == "in-place":
            x = x.clone()
            x += self.attention(self.attention_norm(x))
            return x.add_(self.feed_forward(self.ffn_norm(x)))
        x = x + self.attention(self.attention_norm(x))
        if FAULT == "float32-layers" or (FAULT == "float32-layer" and self.index == 1):
            with torch.autocast(x.device.type, enabled=False):
                return x + self.feed_forward.float()(self.ffn_norm(x).float()).to(x.dtype)
        return x + self.feed_forward(self.ffn_norm(x))


class Llama(nn.Module):
    def __init__(self, vocab, hidden, layers, heads, kv_heads, ffn, context):
        super().__init__()
        self.embed = nn.Embedding(vocab, hidden)
        self.layers = nn.ModuleList(Block(n, hidden, heads, kv_heads, ffn, context) for n in range(layers))
        self.norm = RMSNorm(hidden)
        self.head = nn.Linear(hidden, vocab, bias=False)

    def forward(self, tokens):
        x = self.embed(tokens)
        for n, layer in enumerate(self.layers):
            if FAULT == "skipped-layer" and n == 1:
                continue
            x = layer(x)
        logits = self.head(self.norm(x))
        return -logits if FAULT == "sign" else logits


OUTLIER = 0.0


def build(vocab_size, hidden_size, layers, heads, kv_heads, ffn_size, context):
    model = Llama(vocab_size, hidden_size, layers, heads, kv_heads, ffn_size, context)
    if OUTLIER:
        with torch.no_grad():
            model.embed.weight[:, 3] = OUTLIER
    return model.eval()
