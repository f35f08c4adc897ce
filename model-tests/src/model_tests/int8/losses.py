"""What INT8 loses on each row, in the unit of the task; the answers are CPU tensors from `rows.kept`, sums in fp64."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

Metric = Literal["kl", "accuracy", "signal"]


@dataclass(frozen=True)
class Losses:
    """A loss for each independent row, fp64 [rows], and what it is held against.

    kl: nats of KL divergence, float32 first; `signal` is what the float32 answers tell about their input (nats).
    signal: share of the squared answers; `signal` is the share that depends on the input.
    accuracy: share of the labels that only float32 meets minus those that only INT8 meets; `signal` is what float32
    meets beyond the most frequent label.
    `agreement` is the share of positions with the same largest value, None where there are no classes. `single`: a row
    has one label, so that its loss is -1, 0 or 1.
    """

    metric: Metric
    rows: Tensor
    signal: float
    agreement: float | None
    single: bool = False

    def first(self, count: int) -> Losses:
        """Return the first `count` rows; the signal stays that of all."""
        return replace(self, rows=self.rows[:count])


def losses(float32: Tensor, int8: Tensor, logits: bool) -> Losses:
    """Compare answers to the same rows: [rows, positions, classes] for logits, else [rows, values]."""
    return divergence(float32, int8) if logits else lost_signal(float32, int8)


def divergence(float32: Tensor, int8: Tensor) -> Losses:
    """Mean KL divergence of every row. The float32 model stands for the task: its distribution is the label.

    That is the expected rise of the negative log-likelihood on labels drawn from float32, without the noise of drawing.
    `signal` is the mutual information of input and answer: mean KL of the answers from their own mean. A model that
    gives the mean whatever it is asked loses all of it.
    """
    rows, same, entropy, mean = [], 0.0, 0.0, torch.zeros(float32.shape[-1], dtype=torch.float64)
    for wide, narrow in zip(float32, int8, strict=True):
        p, q = wide.double().log_softmax(-1), narrow.double().log_softmax(-1)
        rows.append((p.exp() * (p - q)).sum(-1).mean().clamp(min=0.0))
        entropy += torch.special.entr(p.exp()).sum(-1).mean().item()
        mean += p.exp().mean(0)
        same += (wide.argmax(-1) == narrow.argmax(-1)).double().mean().item()
    count = len(rows)
    information = torch.special.entr(mean / count).sum().item() - entropy / count
    return Losses("kl", torch.stack(rows), max(information, 0.0), same / count)


def lost_signal(float32: Tensor, int8: Tensor) -> Losses:
    """Squared error of every row, as a share of the mean squared answer; `signal` is the variance over the rows."""
    wide, error = float32.double(), int8.double() - float32.double()
    power = wide.square().sum(-1).mean()
    varies = (wide - wide.mean(0)).square().sum(-1).mean() / power
    return Losses("signal", error.square().sum(-1) / power, varies.nan_to_num(0.0).item(), None)


def lost_accuracy(labels: Tensor, float32: Tensor, int8: Tensor) -> Losses:
    """Labels and predictions, int64 [rows] or [rows, positions]: the loss of top-1 accuracy of every row, -1 to 1."""
    right32, right8 = (_right(labels, found) for found in (float32, int8))
    agreement = (float32 == int8).double().mean().item()
    guessed = max(Counter(labels.flatten().tolist()).values()) / labels.numel()
    skill = max(right32.mean().item() - guessed, 0.0)
    return Losses("accuracy", right32 - right8, skill, agreement, single=labels.dim() == 1)


def _right(labels: Tensor, found: Tensor) -> Tensor:
    return (labels == found).double().reshape(labels.shape[0], -1).mean(-1)
