"""What `[precision] allow_float32` may exempt: norms, a head, one odd layer, but never the bulk of the matrix products.

A candidate whose products run in float32 proves nothing about float16. No torch is imported here.
"""

from collections.abc import Iterable
from fnmatch import fnmatchcase

LARGEST_SHARE = 0.25
"""Of the matrix products, convolutions and attentions: both products of an explicit attention are 2 of 9 in a LLaMA
block, and stay allowed; all of its feed-forward (3 of 9) or all projections (4 of 9) do not."""


def allowed(name: str, patterns: Iterable[str]) -> bool:
    """Tell whether a module, or a module it is part of, matches a glob of allow_float32."""
    parts = name.split(".")
    names = [".".join(parts[:n]) for n in range(1, len(parts) + 1)]
    return any(fnmatchcase(each, pattern) for pattern in patterns for each in names)


def most_exempt(products: int) -> int:
    """How many of so many products may stay in float32: a quarter, or one of several (the head of a small model)."""
    return max(int(products * LARGEST_SHARE), 1 if products > 1 else 0)
