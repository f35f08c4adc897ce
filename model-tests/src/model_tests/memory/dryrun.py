"""The memory of a model that no formula knows: build and run it on fake tensors, and read off the peak.

No weight is stored and nothing is computed (FakeTensorMode), so that a 7B model takes seconds and no memory. This
runs the model's own code: `python -m model_tests.memory.dryrun`, the pytest plugin and tests call it, never
`gpulab check`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.mem_tracker import MemTracker

from model_tests.spec import InputSpec, Spec


class DryRunError(RuntimeError):
    """The model cannot be built or run on fake tensors: it reads values, files, or calls code outside torch."""


@dataclass(frozen=True)
class DryRun:
    """Bytes: parameters (tied ones once), buffers, and everything alive at the peak, inputs included."""

    weights: int
    buffers: int
    peak: int


def dry_run(build: Callable[[], nn.Module], inputs: Sequence[InputSpec], dtype: torch.dtype = torch.float32) -> DryRun:
    """Measure a forward pass without gradients, parameters and floating inputs cast to `dtype`.

    DryRunError when the code needs real numbers.
    """
    try:
        with FakeTensorMode(), _conversions():
            model = build().eval().to(dtype)
            drawn = [_fake(entry, dtype) for entry in inputs]
            tracker = MemTracker()
            tracker.track_external(model, *drawn)
            with torch.no_grad(), tracker:
                model(*drawn)
    except Exception as error:
        said = f"{type(error).__name__}: {error}".splitlines()[0]
        raise DryRunError(f"the model does not run on fake tensors ({said[:200]})") from error
    return DryRun(_bytes(model.parameters()), _bytes(model.buffers()), peak(tracker))


def peak(tracker: MemTracker) -> int:
    """Return the bytes of all devices at the tracker's peak."""
    snapshot: dict[Any, dict[str, int]] = tracker.get_tracker_snapshot("peak")
    return sum(device["Total"] for device in snapshot.values())


@contextmanager
def _conversions() -> Iterator[None]:
    """Let `.to()`, `.half()` and `.float()` replace tensors: torch would swap fake ones in place, which they refuse."""
    original = nn.Module._apply
    done: dict[tuple[int, int], tuple[object, object, Tensor]] = {}  # ties stay ties; what an id named stays alive

    def apply(self: nn.Module, convert: Callable[[Tensor], Tensor], recurse: bool = True) -> nn.Module:
        for child in self.children() if recurse else ():
            child._apply(convert)  # type: ignore[no-untyped-call]
        for table in (self._parameters, self._buffers):
            for name, old in table.items():
                if old is not None:
                    key = (id(old), id(convert))
                    if key not in done:
                        done[key] = (old, convert, _converted(old, convert))
                    table[name] = done[key][2]  # type: ignore[assignment]
        return self

    nn.Module._apply = apply  # type: ignore[method-assign]
    try:
        yield
    finally:
        nn.Module._apply = original  # type: ignore[method-assign]


def _converted(old: Tensor, convert: Callable[[Tensor], Tensor]) -> Tensor:
    with torch.no_grad():
        new = convert(old)
    if new is old or not isinstance(old, nn.Parameter):
        return new
    return nn.Parameter(new, old.requires_grad)


def _fake(entry: InputSpec, dtype: torch.dtype) -> Tensor:
    return torch.zeros(entry.shape, dtype=torch.int64 if entry.dtype == "int64" else dtype)


def _bytes(tensors: Iterator[Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def main(argv: Sequence[str] | None = None) -> int:
    """Print a project's memory as JSON: dtype -> weights, buffers, peak; 2 and one line when it cannot be measured."""
    parser = argparse.ArgumentParser(prog="python3 -m model_tests.memory.dryrun", description=main.__doc__)
    parser.add_argument("--spec", type=Path, required=True, help="spec JSON, or a plan with it under `spec`")
    parser.add_argument("--source", action="append", default=[], help="folder of the project's modules")
    args = parser.parse_args(argv)
    sys.path[0:0] = args.source
    spec = Spec.from_file(args.spec)
    module, _, name = spec.factory.partition(":")
    try:
        factory = getattr(importlib.import_module(module), name)
        found = {
            str(dtype).removeprefix("torch."): asdict(dry_run(lambda: factory(**spec.config), spec.inputs, dtype))
            for dtype in (torch.float32, torch.float16, torch.bfloat16)
        }
    except (DryRunError, ImportError, AttributeError) as error:
        print(str(error), file=sys.stderr)
        return 2
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
