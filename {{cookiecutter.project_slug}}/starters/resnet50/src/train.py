"""Training with automatic mixed precision (AMP): half-precision arithmetic, float32 weights.

    PYTHONPATH=src python -m <package>.train      a tiny ResNet on made-up images, seconds on a CPU

What is easy to get wrong, and how it is done here:
* Weights stay float32; autocast casts copies for each forward. `model.half()` is for inference.
* Only the forward and the loss run under autocast; backward uses the dtypes that forward chose.
* float16 ends at 6e-8, and gradients are small: the loss is multiplied by a scale, the gradients divided by it again
  (`unscale_`) before anything looks at their size, clipping included.
* A scale that is too large makes gradients infinite. That step is skipped, the scale halved; it grows again later.
* bfloat16 has float32's range and needs no scale.
* Gradients are cleared every step; what is left of the last one would be divided by the scale a second time.
"""

import argparse
import os
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_

from .model import build

MOST_SKIPPED = 20
"""Skipped steps in a row. 20 halvings of the usual scale, 65536, leave 1/16: the gradients themselves are broken."""


class Trainer:
    """A model with its optimizer and its scale; `dtype` is what autocast computes in."""

    def __init__(self, model: nn.Module, dtype: torch.dtype, learning_rate: float = 0.05, max_norm: float = 1.0):
        wrong = [name for name, weight in model.named_parameters() if weight.dtype != torch.float32]
        if wrong:
            raise ValueError(f"{wrong[0]} is not float32: small updates would be lost, leave the cast to autocast")
        self.model, self.dtype, self.max_norm = model.train(), dtype, max_norm
        self.device = next(model.parameters()).device.type
        self.optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate, momentum=0.9)
        self.scaler = torch.amp.GradScaler(self.device, enabled=dtype is torch.float16)
        self.steps = self.skipped = self.skipped_in_a_row = 0

    def step(self, images: Tensor, labels: Tensor) -> float:
        """One update from `images` [B, 3, H, W] and `labels` [B]; returns the loss.

        Raises:
            FloatingPointError: no step was possible MOST_SKIPPED times in a row.
        """
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self.device, dtype=self.dtype):
            loss = F.cross_entropy(self.model(images), labels)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        norm = clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.update(bool(norm.isfinite()))
        return loss.item()

    def update(self, finite: bool) -> None:
        """Step and let the scale grow, or skip and halve it."""
        if finite:
            self.scaler.step(self.optimizer)
            self.skipped_in_a_row = 0
        else:  # scaler.step would skip by itself, but in bfloat16 there is no scaler
            self.skipped += 1
            self.skipped_in_a_row += 1
        self.scaler.update()
        self.steps += 1
        if self.skipped_in_a_row == MOST_SKIPPED:
            raise FloatingPointError(
                f"{MOST_SKIPPED} steps in a row had infinite or NaN gradients (scale {self.scaler.get_scale():g}): "
                "look for the first NaN in the forward, or lower the learning rate"
            )

    def save(self, file: Path) -> None:
        """Write a checkpoint; it is whole or not there, also when the power fails."""
        parts = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
        parts |= {"scaler": self.scaler.state_dict(), "steps": self.steps, "skipped": self.skipped}
        torch.save(parts, file.with_suffix(".new"))
        os.replace(file.with_suffix(".new"), file)

    def load(self, file: Path) -> None:
        """Go on from a checkpoint. Without the scaler's state the first steps would be skipped to find it again."""
        parts = torch.load(file, map_location=self.device, weights_only=True)
        self.model.load_state_dict(parts["model"])
        self.optimizer.load_state_dict(parts["optimizer"])
        self.scaler.load_state_dict(parts["scaler"])
        self.steps, self.skipped = parts["steps"], parts["skipped"]


def made_up(batch: int, classes: int, size: int, seed: int) -> tuple[Tensor, Tensor]:
    """Images [batch, 3, size, size] and labels [batch]: each class is one coarse pattern under noise."""
    patterns = torch.randn(classes, 3, 4, 4, generator=torch.Generator().manual_seed(0))
    numbers = torch.Generator().manual_seed(seed)
    labels = torch.randint(classes, (batch,), generator=numbers)
    noise = torch.randn(batch, 3, size, size, generator=numbers)
    return F.interpolate(patterns[labels], size=(size, size)) + 0.5 * noise, labels


def main() -> None:
    """Train a tiny ResNet and print how it goes."""
    parser = argparse.ArgumentParser(description="Train a tiny ResNet on made-up images with mixed precision.")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--dtype", choices=["float16", "bfloat16"], default="float16")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--checkpoint", type=Path, help="go on from this file, and write it at the end")
    args = parser.parse_args()
    torch.manual_seed(0)
    model = build([1, 1, 1, 1], width=8, classes=4).to(args.device)
    trainer = Trainer(model, getattr(torch, args.dtype))
    if args.checkpoint and args.checkpoint.exists():
        trainer.load(args.checkpoint)
    for _ in range(args.steps):
        images, labels = made_up(16, 4, 32, seed=1 + trainer.steps)
        loss = trainer.step(images.to(args.device), labels.to(args.device))
        if trainer.steps % 10 == 0:
            scale = trainer.scaler.get_scale()
            print(f"step {trainer.steps}: loss {loss:.3f}, scale {scale:g}, {trainer.skipped} skipped")
    if args.checkpoint:
        trainer.save(args.checkpoint)


if __name__ == "__main__":
    main()
