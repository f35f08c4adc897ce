"""Which rows are compared: fresh inputs of the same kind, batch after batch, and which part of each answer is kept.

Produce and judge use the same functions, so that the judge knows what every row should be.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Sequence

import torch
from torch import Tensor

from model_tests.draw import draw
from model_tests.spec import Spec

# After so many rows a decision is tried (a PASS from the third on); the last is the most that are drawn.
LOOKS = (32, 64, 128, 256)
# The float32 answers of a run and those of each scheme are handed over as files of at most this many values (128 MiB).
FILE_VALUES = 2**25
# Positions of a sequence resemble each other: more of them cost memory and tell little. Values of a plain tensor.
ROW_POSITIONS = 16
ROW_VALUES = 2**16


def batch(spec: Spec, first: Sequence[Tensor], number: int) -> list[Tensor]:
    """Return the inputs of batch `number` (CPU tensors, in the order of the arguments); 0 is the first itself.

    The seed of a batch is a hash of the first: the child is not given the platform's seed, and the judge draws alike.
    """
    if number == 0:
        return list(first)
    digest = hashlib.sha256(f"gpulab/int8/v1 {number}".encode())
    for x in first:
        x = x.contiguous()
        # Not x.numpy(): the student's image may have no NumPy.
        digest.update((ctypes.c_char * (x.numel() * x.element_size())).from_address(x.data_ptr()))
    return list(draw(spec, int.from_bytes(digest.digest()[:4], "big") >> 1).values())


def batches(spec: Spec, row: Tensor) -> list[int]:
    """Return after how many batches a decision is tried, for an answer whose row is `row`; the last is the end."""
    size = spec.inputs[0].shape[0]
    most = max(FILE_VALUES // max(kept(row[None], spec.output == "logits").numel(), 1), size)
    return sorted({-(-look // size) for look in LOOKS if look <= most} or {most // size})


def looks(spec: Spec, row: Tensor) -> list[int]:
    """Return the same in rows."""
    return [count * spec.inputs[0].shape[0] for count in batches(spec, row)]


def kept(output: Tensor, logits: bool) -> Tensor:
    """Return the part of an answer [rows, ...] that is compared: float32, CPU.

    Logits: [rows, positions, classes], at most ROW_POSITIONS of the positions of a row, fewer where classes are many.
    Else: [rows, values], at most ROW_VALUES of a row. The choice depends on the shape alone.
    """
    rows = output.shape[0]
    if not logits:
        return _some(output.reshape(rows, -1), ROW_VALUES)
    classes = output.shape[-1]
    most = min(ROW_POSITIONS, max(FILE_VALUES // (classes * LOOKS[2]), 1))
    return _some(output.reshape(rows, -1, classes), most)


def _some(x: Tensor, most: int) -> Tensor:
    size = x.shape[1]
    if size > most:
        chosen = torch.randperm(size, generator=torch.Generator().manual_seed(size))[:most]
        x = x[:, chosen.sort().values.to(x.device)]
    return x.detach().float().cpu().contiguous()
