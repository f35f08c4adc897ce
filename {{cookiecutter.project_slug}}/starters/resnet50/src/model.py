"""ResNet-50, short enough to read in one sitting. This is the file you edit; `train.py` trains it with AMP.

`build()` is called with the keys of `[model.config]` in lab.toml. The course compares your model with its own
reference, layer by layer, after copying your weights into it: rename a layer only together with
`reference = ""` in lab.toml. The names are torchvision's, so its published weights fit into the full size.

It is "v1.5": the 3x3 convolution of a block has the stride, not the first 1x1 as in the paper (arXiv:1512.03385).
Shapes in comments: B batch, C channels, H height, W width.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

EXPANSION = 4  # a block's output has four times the channels of its 3x3 convolution


def conv(inputs: int, outputs: int, size: int, stride: int = 1) -> nn.Conv2d:
    """A convolution that keeps H and W at stride 1; without a bias, since the norm after it would take it away."""
    return nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False)


class Bottleneck(nn.Module):
    """Narrow (1x1), look around (3x3), widen (1x1), and add what came in."""

    def __init__(self, inputs: int, width: int, stride: int):
        super().__init__()
        outputs = EXPANSION * width
        self.conv1, self.bn1 = conv(inputs, width, 1), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = conv(width, width, 3, stride), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = conv(width, outputs, 1), nn.BatchNorm2d(outputs)
        # Where the shape changes, what came in is brought to the new one.
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(conv(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        """[B, C, H, W] -> [B, 4 * width, H / stride, W / stride]."""
        y = F.relu(self.bn1(self.conv1(x)))
        y = F.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        if self.downsample is not None:
            x = self.downsample(x)
        return F.relu(x + y)


class ResNet(nn.Module):
    """Images in, one row of class scores per image out."""

    def __init__(self, layers: Sequence[int], width: int, classes: int):
        super().__init__()
        if len(layers) != 4 or min(*layers, width, classes) < 1:
            raise ValueError(f"layers = {layers} must be four numbers, and all sizes at least 1")
        self.conv1, self.bn1 = conv(3, width, 7, stride=2), nn.BatchNorm2d(width)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.channels = width
        self.layer1 = self.stage(layers[0], width, stride=1)
        self.layer2 = self.stage(layers[1], 2 * width, stride=2)
        self.layer3 = self.stage(layers[2], 4 * width, stride=2)
        self.layer4 = self.stage(layers[3], 8 * width, stride=2)
        self.fc = nn.Linear(self.channels, classes)

    def stage(self, blocks: int, width: int, stride: int) -> nn.Sequential:
        """Blocks of one resolution; the first of them halves H and W."""
        made = []
        for index in range(blocks):
            made.append(Bottleneck(self.channels, width, stride if index == 0 else 1))
            self.channels = EXPANSION * width
        return nn.Sequential(*made)

    def forward(self, images: Tensor) -> Tensor:
        """Class scores [B, classes] of `images` [B, 3, H, W]."""
        if images.shape[1] != 3:
            raise ValueError(f"images have {images.shape[1]} channels, but the model takes [batch, 3, height, width]")
        x = self.maxpool(F.relu(self.bn1(self.conv1(images))))  # [B, width, H / 4, W / 4]
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))  # [B, 32 * width, H / 32, W / 32]
        return self.fc(x.mean(dim=(2, 3)))


def initialise(model: ResNet, residual_scale: float) -> None:
    """He's weights: activations keep their size through a convolution followed by ReLU (arXiv:1502.01852)."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        if isinstance(module, Bottleneck):
            nn.init.constant_(module.bn3.weight, residual_scale)


@torch.no_grad()
def settle(model: ResNet, images: Tensor) -> None:
    """Give every BatchNorm the mean and variance of `images`, as training would in time; 0 and 1 hide mistakes."""
    norms = [module for module in model.modules() if isinstance(module, nn.BatchNorm2d)]
    usual = [norm.momentum for norm in norms]
    for norm in norms:
        norm.momentum = 1.0
    model.train()(images)
    for norm, momentum in zip(norms, usual, strict=True):
        norm.momentum = momentum


def build(layers: Sequence[int], width: int, classes: int, residual_scale: float = 0.2) -> ResNet:
    """The model in float32, ready for inference; the caller sets the seed of its random weights.

    `residual_scale` is the weight of a block's own part at the start: small keeps a deep network well-conditioned
    (at 1 bfloat16 loses a third of the answer), and 0 ("zero-init") hides every mistake inside a block.
    """
    model = ResNet(layers, width, classes)
    initialise(model, residual_scale)
    settle(model, torch.randn(8, 3, 64, 64))
    return model.float().eval()
