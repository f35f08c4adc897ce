"""Rules of `[precision] allow_float32`: a policy names exceptions, not the model.

Here the modules are known by the platform's reference only; the judge sees every model's own (gate census).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from gpulab.contract.finding import Finding, wrong
from gpulab.contract.lab import Model, Precision
from gpulab.contract.words import as_toml, one_of, shown

MOST_LAYERS = 200
"""That are listed; more of the same do not change the share."""

UNRELATED = ("q", "zz", "wx.yv", "k7.0.jj")
"""Names that no two patterns of exceptions have in common: what matches them all matches every module."""


def exceptions_stay_exceptions(precision: Precision, model: Model) -> Iterator[Finding]:
    """Most matrix products are proven in the candidate's dtype, whatever is exempt."""
    from model_tests.precision.policy import allowed, most_exempt

    for pattern in precision.allow_float32:
        if all(allowed(name, [pattern]) for name in UNRELATED):
            yield _refused(f"found {shown(pattern)}, which matches every module")
            return
    products = list(products_of(model))
    exempt = [name for name in products if allowed(name, precision.allow_float32)]
    most = most_exempt(len(products))
    if len(exempt) > most:
        yield _refused(
            f"found {one_of(map(shown, precision.allow_float32))}, which exempts {len(exempt)} of the {len(products)} "
            f"layers that multiply matrices ({exempt[0]}, …); allowed: up to {most}, or nothing is proven"
        )


def _refused(message: str) -> Finding:
    example = as_toml("allow_float32", ["*.attention_norm"])
    return wrong("[precision] allow_float32", message, f"Type: the layers that need it only, for example {example}")


def products_of(model: Model) -> Iterator[str]:
    """Names of the layers that multiply matrices, when the reference tells them; embeddings only look up."""
    if model.reference == "llama":
        yield from _llama(model.config)
    elif model.reference == "resnet50":
        yield from _resnet(model.config)


def _llama(config: Mapping[str, Any]) -> Iterator[str]:
    for layer in range(_whole(config.get("layers"))):
        yield from (f"layers.{layer}.attention.{name}" for name in ("wq", "wk", "wv", "wo"))
        yield from (f"layers.{layer}.feed_forward.{name}" for name in ("gate", "up", "down"))
    yield "head"


def _resnet(config: Mapping[str, Any]) -> Iterator[str]:
    blocks = config.get("layers")
    yield "conv1"
    for stage, count in enumerate(blocks if isinstance(blocks, list) else [], start=1):
        for block in range(_whole(count)):
            yield from (f"layer{stage}.{block}.conv{number}" for number in (1, 2, 3))
            if block == 0:
                yield f"layer{stage}.0.downsample.0"
    yield "fc"


def _whole(value: object) -> int:
    """A count of layers that can be listed; what is none is told by another rule."""
    return min(value, MOST_LAYERS) if isinstance(value, int) and not isinstance(value, bool) else 0
