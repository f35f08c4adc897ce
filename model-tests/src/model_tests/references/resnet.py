"""ResNet with bottlenecks, "v1.5" (stride in the 3x3 convolution), written to be right and not fast.

State-dict keys are torchvision's. Every formula is written out, in the dtype of the parameters: below float32 the
norm's arithmetic is done in float32 and rounded once, as the kernels of every vendor do. arXiv:1512.03385 (blocks),
arXiv:1502.03167 (normalisation; at inference with the running statistics, epsilon 1e-5).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

EPSILON = 1e-5
EXPANSION = 4


class BatchNorm(nn.Module):
    """(x - running_mean) / sqrt(running_var + 1e-5) * weight + bias, channel by channel."""

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.register_buffer("running_mean", torch.zeros(channels))
        self.register_buffer("running_var", torch.ones(channels))
        self.register_buffer("num_batches_tracked", torch.tensor(0, dtype=torch.int64))

    def forward(self, x: Tensor) -> Tensor:
        """[batch, channels, height, width] -> the same."""
        dtype = torch.promote_types(x.dtype, torch.float32)
        mean, variance, weight, bias = (
            t.to(dtype)[:, None, None] for t in (self.running_mean, self.running_var, self.weight, self.bias)
        )
        return ((x.to(dtype) - mean) / torch.sqrt(variance + EPSILON) * weight + bias).to(x.dtype)


class Bottleneck(nn.Module):
    """1x1 to `width`, 3x3 with the stride, 1x1 to 4 * `width`; a projection where the shape changes."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = EXPANSION * width
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = BatchNorm(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, padding=1, bias=False)
        self.bn2 = BatchNorm(width)
        self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
        self.bn3 = BatchNorm(outputs)
        self.downsample: nn.Sequential | None = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), BatchNorm(outputs))

    def forward(self, x: Tensor) -> Tensor:
        """[batch, inputs, height, width] -> [batch, 4 * width, height / stride, width / stride]."""
        y = self.bn1(self.conv1(x)).relu()
        y = self.bn2(self.conv2(y)).relu()
        y = self.bn3(self.conv3(y))
        shortcut = x if self.downsample is None else self.downsample(x)
        out: Tensor = (y + shortcut).relu()
        return out


def stage(inputs: int, width: int, blocks: int, stride: int) -> nn.Sequential:
    """Blocks of one resolution; the first one has the stride."""
    first = Bottleneck(inputs, width, stride)
    return nn.Sequential(first, *(Bottleneck(EXPANSION * width, width, 1) for _ in range(blocks - 1)))


class ResNet(nn.Module):
    """Images [batch, 3, height, width] -> class scores [batch, classes]."""

    def __init__(self, layers: Sequence[int], width: int, classes: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False)
        self.bn1 = BatchNorm(width)
        self.layer1 = stage(width, width, layers[0], 1)
        self.layer2 = stage(4 * width, 2 * width, layers[1], 2)
        self.layer3 = stage(8 * width, 4 * width, layers[2], 2)
        self.layer4 = stage(16 * width, 8 * width, layers[3], 2)
        self.fc = nn.Linear(32 * width, classes)

    def forward(self, images: Tensor) -> Tensor:
        """float [batch, 3, height, width] -> [batch, classes] in the parameters' dtype."""
        x = self.bn1(self.conv1(images)).relu()
        x = nn.functional.max_pool2d(x, 3, stride=2, padding=1)
        for blocks in (self.layer1, self.layer2, self.layer3, self.layer4):
            x = blocks(x)
        scores: Tensor = self.fc(x.mean(dim=(2, 3)))
        return scores


def build(layers: Sequence[int], width: int, classes: int, residual_scale: float = 0.2) -> ResNet:
    """Build the model in eval mode; `residual_scale` is about the student's first weights and changes nothing here.

    ValueError when the sizes make no ResNet.
    """
    sizes = [*layers, width, classes]
    if len(layers) != 4 or any(isinstance(size, bool) or not isinstance(size, int) or size < 1 for size in sizes):
        raise ValueError("layers must be four whole numbers; these, width and classes at least 1")
    return ResNet(layers, width, classes).eval()
