"""When INT8 does not pay on an accelerator: remarks for the hardware card of a project that asks for it."""

from collections.abc import Iterator, Mapping
from typing import Any

from model_tests.hardware.catalogue import Accelerator

# torch's INT8 product on CUDA takes more than 16 rows (torch._int_mm), and tensor cores work in tiles of 16 and more.
FEWEST_ROWS = 17


def int8_notes(spec: Mapping[str, Any], device: Accelerator) -> Iterator[dict[str, Any]]:
    """Yield remarks ({"key", "params"}) where a scheme that the spec asks for is expected to be slower than float16.

    Weight-only keeps float products and saves memory and bandwidth; dynamic needs INT8 units (`native_dtypes`), whose
    gain small batches do not see: rounding the input costs as much as it saves. bitsandbytes' LLM.int8 runs at 0.15-0.5
    of float16 on a T4 (issues 181, 347).
    """
    schemes = (spec.get("int8") or {}).get("schemes", ())
    if "dynamic" in schemes and device.lane == "cpu":
        yield {"key": "int8-cpu", "params": {}}
    elif "dynamic" in schemes and device.support("int8") != "native":
        yield {"key": "int8-no-units", "params": {"capability": device.compute_capability}}
    elif "dynamic" in schemes and rows_of(spec) < FEWEST_ROWS:
        yield {"key": "int8-few-rows", "params": {"rows": rows_of(spec), "fewest": FEWEST_ROWS}}
    if "weight-only" in schemes:
        yield {"key": "int8-weight-only", "params": {}}


def rows_of(spec: Mapping[str, Any]) -> int:
    """Rows of a product: all positions of a batch of tokens; of other inputs only the batch is known."""
    first = spec["inputs"][0]
    batch, *rest = first["shape"]
    return int(batch * rest[0]) if first["dtype"] == "int64" and len(rest) == 1 else int(batch)
