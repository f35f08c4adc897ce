"""The INT8 matrix product with int32 sums: torch's own where it is exact, else the same integers in float32."""

from __future__ import annotations

from functools import cache

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

# CUDA takes more than 16 rows, and depths and widths in steps of 8 (torch._int_mm); zeros change no sum.
FEWEST_ROWS = 17
STEP = 8
# Largest magnitude of a symmetric int8 value, so that products of opposite signs are alike.
LARGEST = 127


def product(x: Tensor, weight: Tensor) -> Tensor:
    """Multiply int8 [n, k] by the transpose of int8 [m, k]; the exact sums as float32 [n, m].

    float32 holds every sum up to 1040 terms exactly; beyond, its rounding (2**-24) is nothing beside int8's (2**-8).
    """
    if not native(x.device):
        return x.float() @ weight.float().t()
    n, m = x.shape[0], weight.shape[0]
    return torch._int_mm(_padded(x, FEWEST_ROWS), _padded(weight, 1).t())[:n, :m].float()


@cache
def native(device: torch.device) -> bool:
    """Tell whether torch has an INT8 product here that does not saturate.

    Kernels of processors without VNNI add pairs of products in 16 bits (FBGEMM issue 125): 127 times 127 betrays them.
    """
    full = torch.full((32, 64), LARGEST, dtype=torch.int8, device=device)
    try:
        found = torch._int_mm(full, full.t())
    except (RuntimeError, NotImplementedError, AttributeError):
        return False
    return bool((found == 64 * LARGEST * LARGEST).all())


def _padded(x: Tensor, fewest: int) -> Tensor:
    """Add rows and columns of zeros until the sizes suit every kernel."""
    rows, columns = x.shape
    more = max(fewest - rows, 0)
    return F.pad(x, (0, -columns % STEP, 0, more + -(rows + more) % STEP)).contiguous()
