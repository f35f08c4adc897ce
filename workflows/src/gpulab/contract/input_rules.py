"""Rules of the `[[inputs]]` of `lab.toml`."""

import math
from collections.abc import Iterator

from gpulab.contract.finding import Finding, wrong
from gpulab.contract.lab import Input, Model
from gpulab.contract.words import as_toml, shown

LARGEST_INPUT = 2**28
"""Elements of one input: it is drawn on a CPU, kept with the run and drawn again by the judge."""


def inputs_are_distinct(inputs: tuple[Input, ...]) -> Iterator[Finding]:
    """Requests and records address an input by its name, and the batch is the first dimension of each."""
    for place, entry in enumerate(inputs[1:], start=2):
        if entry.name in [other.name for other in inputs[: place - 1]]:
            yield wrong(
                f"[[inputs]] #{place} name",
                f"found {shown(entry.name)} for the second time",
                f"Type: {as_toml('name', f'{entry.name}_{place}')}",
            )
        if entry.shape[0] != inputs[0].shape[0]:
            yield wrong(
                f"[[inputs]] #{place} shape",
                f"found {shown(entry.shape)}, but the batch (first dimension) of {shown(inputs[0].name)} is "
                f"{inputs[0].shape[0]}",
                f"Type: {as_toml('shape', [inputs[0].shape[0], *entry.shape[1:]])}",
            )


def inputs_can_be_drawn(inputs: tuple[Input, ...]) -> Iterator[Finding]:
    """int64 is drawn from low <= x < high, float32 from the standard normal distribution."""
    for place, entry in enumerate(inputs, start=1):
        yield from _range(entry, f"[[inputs]] #{place}")
        if math.prod(entry.shape) > LARGEST_INPUT:
            yield wrong(
                f"[[inputs]] #{place} shape",
                f"found {shown(entry.shape)}, {math.prod(entry.shape)} elements, allowed: up to {LARGEST_INPUT}",
                "Type: a smaller batch, for example " + as_toml("shape", [1, *entry.shape[1:]]),
            )


def _range(entry: Input, where: str) -> Iterator[Finding]:
    bounds = {"low": entry.low, "high": entry.high}
    if entry.dtype == "float32":
        for key, value in bounds.items():
            if value is not None:
                message = f"found {shown(value)}, but float32 is drawn from the standard normal distribution"
                yield wrong(f"{where} {key}", message, f"Delete the line, or type: {as_toml('dtype', 'int64')}")
        return
    for key, value in bounds.items():
        if value is None:
            example = 0 if key == "low" else 512
            yield wrong(f"{where} {key}", "missing, int64 needs it", f"Type: {as_toml(key, example)}")
    if entry.low is not None and entry.high is not None and entry.low >= entry.high:
        message = f"found {entry.high}, allowed: a whole number above low, which is {entry.low}"
        yield wrong(f"{where} high", message, f"Type: {as_toml('high', entry.low + 1)}")


def tokens_fit_the_llama(model: Model, inputs: tuple[Input, ...]) -> Iterator[Finding]:
    """An index outside the embedding is an error in the middle of the run; here it is a line."""
    tokens = inputs[0]
    if model.family != "llama":
        return
    if tokens.dtype != "int64" or len(tokens.shape) != 2:
        message = f'found {tokens.dtype} {shown(tokens.shape)}, allowed: int64 [batch, tokens] for family "llama"'
        yield wrong("[[inputs]] #1 shape", message, 'Type: shape = [4, 64] and dtype = "int64"')
        return
    words, context = model.config.get("vocab_size"), model.config.get("context")
    if isinstance(words, int) and tokens.high is not None and tokens.high > words > 0:
        message = f"found {tokens.high}, allowed: up to {words}, the vocab_size of [model.config]"
        yield wrong("[[inputs]] #1 high", message, f"Type: {as_toml('high', words)}")
    if tokens.low is not None and tokens.low < 0:
        message = f"found {tokens.low}, allowed: 0 or more, a token is an index"
        yield wrong("[[inputs]] #1 low", message, f"Type: {as_toml('low', 0)}")
    if isinstance(context, int) and tokens.shape[1] > context > 0:
        message = f"found length {tokens.shape[1]}, allowed: up to {context}, the context of [model.config]"
        yield wrong("[[inputs]] #1 shape", message, f"Type: {as_toml('shape', [tokens.shape[0], context])}")
