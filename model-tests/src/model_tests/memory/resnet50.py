"""The sizes of a ResNet of bottleneck blocks with the stride in the 3x3 convolution (ResNet-50: 3, 4, 6, 3)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from model_tests.memory.parts import MemoryInputError, Parts, input_bytes, whole_numbers

# The factory's arguments, with what ResNet-50 has where there is none.
DEFAULTS: Mapping[str, Any] = {"layers": (3, 4, 6, 3), "width": 64, "classes": 1000}
EXPANSION = 4
MOST_BLOCKS = 1000  # they are counted one by one


def parts(config: Mapping[str, Any], inputs: list[Mapping[str, Any]], size: int) -> Parts:
    """Bytes by cause of a forward pass in eval mode; `size` is bytes per element.

    MemoryInputError when a key is out of range, or the input is no [batch, channels, height, width].
    """
    sizes = {**DEFAULTS, **whole_numbers("resnet50", config, (), ("width", "classes"))}
    layers, width = _layers(config.get("layers", DEFAULTS["layers"])), sizes["width"]
    batch, channels, height, across = _image(inputs)
    convolutions = list(_convolutions(channels, width, layers))
    normed = sum(out for _, out, _ in convolutions)
    features = width * 8 * EXPANSION
    head = (features + 1) * sizes["classes"]
    weights = sum(into * out * kernel**2 for into, out, kernel in convolutions) + 2 * normed + head
    return Parts(
        weights=weights * size,
        buffers=2 * normed * size + len(convolutions) * 8,  # running mean and variance; num_batches_tracked is int64
        kv=0,
        activation=batch * max(_alive(width, height, across)) * size + input_bytes(inputs, size),
        logits=batch * (features + sizes["classes"]) * size + input_bytes(inputs, size),
    )


def _convolutions(channels: int, width: int, layers: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """(input channels, output channels, kernel) of every convolution; each is followed by a batch norm."""
    yield channels, width, 7
    into = width
    for stage, blocks in enumerate(layers):
        inner, out = width * 2**stage, width * 2**stage * EXPANSION
        for block in range(blocks):
            yield from ((into, inner, 1), (inner, inner, 3), (inner, out, 1))
            if block == 0 and (stage or into != out):
                yield into, out, 1
            into = out


def _alive(width: int, height: int, across: int) -> Iterator[int]:
    """Elements per image alive at each candidate for the peak.

    The stem holds two outputs. Then the pooled image stays alive, a stage holds its input, and the end of a block
    four outputs: both branches, their sum and its ReLU (an in-place ReLU and sum hold two less).
    """
    height, across = _half(height), _half(across)
    yield 2 * width * height * across
    height, across = _half(height), _half(across)
    pooled = before = width * height * across
    for stage in range(4):
        if stage:
            height, across = _half(height), _half(across)
        after = width * 2**stage * EXPANSION * height * across
        yield (pooled if stage else 0) + before + 4 * after
        before = after


def _layers(found: object) -> Sequence[int]:
    whole = isinstance(found, list | tuple) and all(
        type(blocks) is int and 1 <= blocks <= MOST_BLOCKS for blocks in found
    )
    if not isinstance(found, list | tuple) or not whole or len(found) != 4:
        raise MemoryInputError(
            f"[model.config] layers = {found!r}: four whole numbers from 1 to {MOST_BLOCKS} are needed"
        )
    return found


def _half(size: int) -> int:
    """A stride of two with the padding of an odd kernel."""
    return (size + 1) // 2


def _image(inputs: list[Mapping[str, Any]]) -> tuple[int, int, int, int]:
    shape = inputs[0].get("shape") if inputs else None
    whole = isinstance(shape, list | tuple) and all(type(size) is int and size >= 1 for size in shape)
    if not isinstance(shape, list | tuple) or not whole or len(shape) != 4:
        raise MemoryInputError(
            f"[[inputs]] shape = {shape!r}: the family resnet50 needs [batch, channels, height, width], all at least 1"
        )
    return shape[0], shape[1], shape[2], shape[3]
