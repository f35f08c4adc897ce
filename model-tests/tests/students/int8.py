"""Models that INT8 suits or does not, and evaluation functions. `student_llama` must be loaded first."""

import sys

import torch
from model_tests.int8.quantise import quantise
from torch import nn

OUTLIER = 100.0
ROWS = 96
LABELS = "own"
ORDER = ""


def outlier_channel(**config):
    """A LLaMA whose MLPs count: one channel of each is large, and its way out small, which changes no answer."""
    model = sys.modules["student_llama"].build(**config)
    with torch.no_grad():
        model.head.weight *= 3
        for layer in model.layers:
            layer.feed_forward.down.weight *= 30
            layer.feed_forward.up.weight[5] *= OUTLIER
            layer.feed_forward.down.weight[:, 5] /= OUTLIER
    return model


def confident(**config):
    """The clean LLaMA with logits as far apart as a trained model's."""
    model = sys.modules["student_llama"].build(**config)
    with torch.no_grad():
        model.head.weight *= 20
    return model


def constant(width):
    class Constant(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(width, width)

        def forward(self, x):
            return self.layer(torch.ones_like(x))

    return Constant().eval()


def elementwise(width):
    class Gain(nn.Module):
        def __init__(self):
            super().__init__()
            self.gain = nn.Parameter(torch.ones(width))

        def forward(self, x):
            return x * self.gain

    return Gain().eval()


def classifier(width, classes):
    """One linear layer whose rows differ by less than an INT8 step: an outlier column takes all steps."""
    layer = nn.Linear(width, classes, bias=False)
    with torch.no_grad():
        layer.weight[:, 0] = OUTLIER
    return nn.Sequential(layer).eval()


def rows():
    """Labelled rows: the right answers of the float32 model, or chance."""
    torch.manual_seed(3)
    x = torch.randn(ROWS, 24)
    torch.manual_seed(0)
    model = classifier(24, 8)
    labels = model(x).argmax(-1)
    if LABELS == "float":
        labels = labels.float()
    if LABELS == "chance":
        labels = torch.randint(8, (ROWS,))
    if LABELS == "short":
        labels = labels[:-1]
    if ORDER == "kept first":
        order = (quantise(model, "weight-only").model(x).argmax(-1) != labels).int().argsort(stable=True)
        x, labels = x[order], labels[order]
    if ORDER == "one":
        return [(x, labels)]
    return [(x[:32], labels[:32]), (x[32:], labels[32:])]


def uneven():
    return [(torch.zeros(4, 24), torch.zeros(4, size, dtype=torch.int64)) for size in (3, 2)]


def no_rows():
    return []


def broken():
    raise KeyError("no such file")


def number():
    return 7
