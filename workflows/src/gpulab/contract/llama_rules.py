"""Rules of `[model.config]` for the family llama: sizes that must divide each other."""

from collections.abc import Iterator

from gpulab.contract.finding import Finding, wrong
from gpulab.contract.lab import Model

SEARCHED = 1000
"""Numbers on each side that are tried for a better one."""


def heads_divide(model: Model) -> Iterator[Finding]:
    """Each head gets the same part of the hidden size, and each key/value head serves the same number of heads."""
    sizes = {key: model.config.get(key) for key in ("hidden_size", "heads", "kv_heads", "head_dim")}
    hidden, heads, kv_heads, head_dim = (value if type(value) is int and value > 0 else 0 for value in sizes.values())
    if model.family != "llama":
        return
    if hidden and heads and not head_dim and hidden % heads:
        yield _refused("heads", f"found {heads}, which does not divide hidden_size = {hidden}", hidden, heads)
    elif hidden and heads and not head_dim and (hidden // heads) % 2 and model.reference == "llama":
        message = f"hidden_size = {hidden} / heads = {heads} is {hidden // heads}, and rotary positions turn pairs"
        yield wrong("[model.config] heads", message, "Type: heads = a number that leaves an even size per head.")
    if heads and kv_heads and heads % kv_heads:
        yield _refused("kv_heads", f"found {kv_heads}, which does not divide heads = {heads}", heads, kv_heads)


def _refused(key: str, message: str, whole: int, found: int) -> Finding:
    """Name the nearest number that divides; sizes can be of any length, so that the search has an end."""
    near = (number for far in range(SEARCHED) for number in (found - far, found + far) if number > 0)
    better = next((number for number in near if whole % number == 0), 1)
    return wrong(f"[model.config] {key}", message, f"Type: {key} = {better}")
