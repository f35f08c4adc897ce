"""Clean models of other kinds: what correct code looks like that a judge might take for a fault."""

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn


class InPlace(nn.Module):
    """A residual net that adds in place, as torchvision's Bottleneck does."""

    def __init__(self, layers, width, classes, scale=1.0):
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
            for _ in range(layers)
        )
        self.head = nn.Linear(width, classes)
        self.scale = scale

    def forward(self, x):
        h = x.clone()
        for block in self.blocks:
            h += self.scale * block(h)
        return self.head(h)


class LayerScale(nn.Module):
    """A float32 residual stream under autocast with tiny branches: loses far less than its dtype's roundoff."""

    def __init__(self, layers, width, scale):
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))
            for _ in range(layers)
        )
        self.scale = nn.Parameter(torch.full((width,), scale))
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        for block in self.blocks:
            x = x + self.scale * block(x)
        return self.norm(x)


class Conv(nn.Module):
    """A small ResNet with calibrated BatchNorm."""

    def __init__(self, channels, blocks):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels))
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(channels, channels, 3, padding=1, bias=False),
                nn.BatchNorm2d(channels),
                nn.ReLU(inplace=True),
                nn.Conv2d(channels, channels, 3, padding=1, bias=False),
                nn.BatchNorm2d(channels),
            )
            for _ in range(blocks)
        )
        self.head = nn.Linear(channels, 64)

    def forward(self, x):
        x = F.relu(self.stem(x), inplace=True)
        for block in self.blocks:
            y = block(x)
            y += x
            x = F.relu(y, inplace=True)
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Recurrent(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.rnn = nn.LSTM(width, width, batch_first=True)
        self.head = nn.Linear(width, width)

    def forward(self, x):
        return self.head(self.rnn(x)[0])


class Chain(nn.Module):
    """Elementwise in-place arithmetic, with no matrix product before the head."""

    def __init__(self, steps, width):
        super().__init__()
        self.gain = nn.ParameterList(1 + 0.2 * torch.randn(width) for _ in range(steps))
        self.bias = nn.ParameterList(0.2 * torch.randn(width) for _ in range(steps))
        self.head = nn.Linear(width, width)

    def forward(self, x):
        h = x.clone()
        for gain, bias in zip(self.gain, self.bias, strict=True):
            h.mul_(gain).add_(bias)
        return self.head(h)


class Cache(nn.Module):
    """Writes into a preallocated buffer, token by token, with index_put_, out= and masked fills."""

    def __init__(self, width, context):
        super().__init__()
        self.q, self.k = nn.Linear(width, width), nn.Linear(width, width)
        self.register_buffer("cache", torch.zeros(1, context, width), persistent=False)
        self.head = nn.Linear(width, width)

    def forward(self, x):
        q, k = self.q(x), self.k(x)
        cache = self.cache.expand(x.shape[0], -1, -1).clone().to(k.dtype)
        position = torch.arange(x.shape[1])
        cache[:, position] = k
        scores = torch.bmm(q, cache.transpose(1, 2)) / x.shape[-1] ** 0.5
        scores.masked_fill_(position[:, None] < torch.arange(cache.shape[1]), float("-inf"))
        mixed = torch.empty_like(q)
        torch.bmm(scores.softmax(-1).to(cache.dtype), cache, out=mixed) if not torch.is_grad_enabled() else None
        return self.head(torch.cat((mixed[..., ::2], x.to(mixed.dtype)[..., 1::2]), -1))


class Offset(nn.Module):
    """Features on an offset before a norm, which enlarges every rounding; `tf32` products are the fault."""

    def __init__(self, width, offset, tf32, half_only):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(4))
        self.offset, self.tf32, self.half_only = offset, tf32, half_only

    def forward(self, x):
        for layer in self.layers:
            narrow = tf32_of if self.tf32 and x.dtype is torch.float32 else torch.nn.Identity()
            x = F.gelu(F.linear(narrow(x), narrow(layer.weight), layer.bias)) * 2
        if self.half_only and x.dtype is torch.float16:
            x = (x + self.offset) - self.offset
        elif not self.half_only:
            x = x + self.offset
        wide = torch.promote_types(x.dtype, torch.float32)
        return F.layer_norm(x.to(wide), (x.shape[-1],)).to(x.dtype)


def tf32_of(x):
    """Keep the 10 bits that a TF32 product reads."""
    return ((x.contiguous().view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)


def offset(width, offset, tf32, half_only=False):
    return Offset(width, offset, tf32, half_only).eval()


def mlp(width, classes, depth=3):
    layers = [nn.Linear(width, width) if n % 2 == 0 else nn.ReLU() for n in range(2 * depth - 1)]
    return nn.Sequential(*layers, nn.Linear(width, classes)).eval()


def in_place(layers, width, classes):
    return InPlace(layers, width, classes).eval()


def layer_scale(layers, width, scale):
    return LayerScale(layers, width, scale).eval()


def encoder(layers, width):
    layer = nn.TransformerEncoderLayer(width, 4, 2 * width, batch_first=True)
    return nn.TransformerEncoder(layer, layers).eval()


def recurrent(width):
    return Recurrent(width).eval()


def chain(steps, width):
    return Chain(steps, width).eval()


def cache(width, context):
    return Cache(width, context).eval()


def conv(channels, blocks):
    model = Conv(channels, blocks).train()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = None
    with torch.no_grad():
        for _ in range(2):
            model(torch.randn(16, 3, 12, 12))
    return model.eval()


class Routed(nn.Module):
    """Top-1 experts: rounding moves whole tokens to another expert."""

    def __init__(self, width):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(4))
        self.routers = nn.ModuleList(nn.Linear(width, 8, bias=False) for _ in range(4))
        self.experts = nn.ModuleList(nn.ModuleList(nn.Linear(width, width) for _ in range(8)) for _ in range(4))

    def forward(self, x):
        for norm, router, experts in zip(self.norms, self.routers, self.experts, strict=True):
            h = norm(x)
            weight, chosen = router(h).softmax(-1).max(-1)
            for number, expert in enumerate(experts):
                x = x + expert(h) * (weight * (chosen == number))[:, None]
        return x


def routed(width):
    return Routed(width).eval()
