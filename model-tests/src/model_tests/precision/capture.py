"""Forward hooks on every named module: where in the model we are, and a sample of what each module took and gave.

Memory is capped: a run keeps at most RUN_VALUES sampled values, shared equally by the modules but never more than
CALL_VALUES or fewer than FEWEST_VALUES for one tensor, and at most RUN_CALLS calls. The sample is a fixed random choice
of positions that depends on the size alone, so that runs can be compared; counts and maxima are of the whole tensor.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_iter

RUN_VALUES = 2**23
CALL_VALUES = 2**13
FEWEST_VALUES = 2**9
RUN_CALLS = 2048

# Name and number of the call: a module may run more than once in a forward. The model itself has the name "".
Key = tuple[str, int]


@dataclass(frozen=True)
class Sample:
    """Part of a tensor: its shape, sampled values (1-D, its dtype, on the CPU), and facts of the whole.

    `max_abs` is over the finite values. `nan`, `inf` and `minus_inf` are counts; masks hold -inf on purpose.
    """

    shape: tuple[int, ...]
    values: Tensor
    max_abs: float
    nan: int
    inf: int
    minus_inf: int

    @property
    def broken(self) -> int:
        """NaN and +inf."""
        return self.nan + self.inf


@dataclass(frozen=True)
class Call:
    """One completed forward of a module; `parent` is the call it was made from."""

    key: Key
    parent: Key | None
    kind: str
    output: Sample | None
    input: Sample | None


class ModuleStack:
    """The names of the modules now running; the basis of recording and of the census."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.names = {module: name for name, module in model.named_modules()}
        self.running: list[Key] = []
        self.counts: Counter[str] = Counter()
        self._handles: list[Any] = []

    @property
    def current(self) -> str:
        """Name of the innermost running module, "" for the model itself."""
        return self.running[-1][0] if self.running else ""

    def __enter__(self) -> Self:
        for module in self.names:
            self._handles.append(module.register_forward_pre_hook(self._enter, with_kwargs=True))
            self._handles.append(module.register_forward_hook(self._leave, with_kwargs=True, always_call=True))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self.running.clear()

    def _enter(self, module: nn.Module, args: Any, kwargs: Any) -> None:
        name = self.names[module]
        self.running.append((name, self.counts[name]))
        self.counts[name] += 1
        self.entered(args, kwargs)

    def _leave(self, module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        key = self.running.pop()
        self.left(module, key, self.running[-1] if self.running else None, output)

    def entered(self, args: Any, kwargs: Any) -> None:
        """Called when the innermost module starts."""

    def left(self, module: nn.Module, key: Key, parent: Key | None, output: Any) -> None:
        """Called when a module has completed."""


class Recorder(ModuleStack):
    """A ModuleStack that samples each module's first floating input and output, in order of completion."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__(model)
        self.calls: list[Call] = []
        self._inputs: dict[Key, Sample | None] = {}
        share = RUN_VALUES // (2 * max(len(self.names), 1))
        self._values = min(CALL_VALUES, max(FEWEST_VALUES, share))

    def entered(self, args: Any, kwargs: Any) -> None:
        """Sample the input now: an in-place module overwrites it."""
        if len(self._inputs) < RUN_CALLS:
            self._inputs[self.running[-1]] = sample((args, kwargs), self._values)

    def left(self, module: nn.Module, key: Key, parent: Key | None, output: Any) -> None:
        """Sample the output."""
        if key in self._inputs:
            given = sample(output, self._values)
            self.calls.append(Call(key, parent, type(module).__name__, given, self._inputs[key]))


def sample(value: Any, most: int) -> Sample | None:
    """Sample the first floating tensor in a structure; None when there is none, or it is empty."""
    for x in tree_iter(value):
        if isinstance(x, Tensor) and x.is_floating_point() and x.numel():
            with torch.no_grad(), _disable_current_modes():
                return _sample(x.detach(), most)
    return None


def _sample(x: Tensor, most: int) -> Sample:
    finite = torch.isfinite(x)
    clean = bool(finite.all())
    nan = 0 if clean else int(torch.isnan(x).sum())
    minus_inf = 0 if clean else int((x == float("-inf")).sum())
    inf = int((~finite).sum()) - nan - minus_inf
    largest = x.abs() if clean else x.abs().masked_fill(~finite, 0.0)
    flat = x.reshape(-1)
    values = flat.clone() if flat.numel() <= most else flat[positions(flat.numel(), most).to(x.device)]
    return Sample(tuple(x.shape), values.cpu(), float(largest.max()), nan, inf, minus_inf)


def positions(size: int, count: int) -> Tensor:
    """Return `count` sorted positions below `size`, the same for the same size (a stride would hit one channel)."""
    generator = torch.Generator().manual_seed(size)
    return torch.randint(size, (count,), generator=generator).sort().values
