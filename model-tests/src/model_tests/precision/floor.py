"""The noise floor: the error of an ideal implementation of the candidate, measured by running it.

The candidate runs as declared (half or autocast) under `Island`: each op that yields the dtype is computed in fp32 and
rounded once. What the arithmetic of the dtype must cost is in the result; what a kernel loses on top is not. Measured
real / floor: 0.99-1.05 on in-place nets, outlier channels, LayerScale under autocast and ResNet50 (numerics.md 8.1).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Self

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._pytree import tree_iter, tree_map

from model_tests.precision.mode import EagerMode

# Another summation order (another BLAS, a GPU) differs before the rounding by about this much, relative.
JITTER = 2.0**-20
# Exact in any precision: run as they are, because computing them in fp32 would only copy the whole operand.
MOVES = frozenset({"embedding", "index_select", "gather", "index", "clone", "copy_", "_unsafe_view", "resize_", "set_"})

# What an op does to dtypes, learned once: for each output, is it the dtype? None: the op yields none, run it as it is.
Rules = dict[Hashable, tuple[bool, ...] | None]


class FloorError(RuntimeError):
    """An op could not be computed in fp32; `op` is its name. Our limit, never the student's fault."""

    def __init__(self, op: str, error: Exception) -> None:
        super().__init__(f"{op}: {type(error).__name__}: {error}".splitlines()[0])
        self.op = op


class Island(EagerMode):  # type: ignore[no-untyped-call]
    """Compute each op that yields `dtype` in fp32 and round once; with a `generator`, jitter before the rounding.

    Views (by schema), moves, random ops and ops that yield other dtypes run as they are. Mutated operands, `out=` too,
    are computed on fp32 copies and written back. `rules` may be shared between runs of the same candidate.
    """

    def __init__(
        self, dtype: torch.dtype, generator: torch.Generator | None = None, rules: Rules | None = None
    ) -> None:
        super().__init__()
        self.dtype, self.generator = dtype, generator
        self.rules: Rules = {} if rules is None else rules

    def __enter__(self) -> Self:
        """Take attention apart as well: a fused kernel is random in its schema, and on a GPU refuses fp32.

        Torch's own parts of it compute in fp32 and round once.
        """
        self._attention = sdpa_kernel(SDPBackend.MATH)
        self._attention.__enter__()
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)  # type: ignore[no-untyped-call]
        self._attention.__exit__(*error)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run one op of the model."""
        kwargs = kwargs or {}
        if self._as_it_is(func, args, kwargs):
            return func(*args, **kwargs)
        written = _written(func, args, kwargs)
        if written:
            if any(t.dtype == self.dtype for t in written):
                return self._guarded(self._write_back, func, args, kwargs)
            return func(*args, **kwargs)
        key = _signature(func, args, kwargs)
        if key not in self.rules:
            native = func(*args, **kwargs)
            yields = tuple(isinstance(o, Tensor) and o.dtype == self.dtype for o in tree_iter(native))
            self.rules[key] = yields if any(yields) else None
            if self.rules[key] is None:
                return native
        yields_dtype = self.rules[key]
        if yields_dtype is None:
            return func(*args, **kwargs)
        return self._guarded(self._compute, func, args, kwargs, yields_dtype)

    def _as_it_is(self, func: Any, args: Any, kwargs: Any) -> bool:
        """Tell ops whose result does not depend on the precision they are computed in."""
        if not isinstance(func, torch._ops.OpOverload) or func.is_view or func.overloadpacket.__name__ in MOVES:
            return True
        if torch.Tag.nondeterministic_seeded in func.tags or torch.Tag.inplace_view in func.tags:
            return True
        return not any(isinstance(a, Tensor) and a.dtype == self.dtype for a in tree_iter((args, kwargs)))

    def _guarded(self, how: Callable[..., Any], func: Any, *rest: Any) -> Any:
        try:
            return how(func, *rest)
        except FloorError:
            raise
        except Exception as error:
            raise FloorError(str(func), error) from error

    def _raise_operands(self, args: Any, kwargs: Any) -> tuple[Any, Any, dict[int, tuple[Tensor, Tensor]]]:
        """Return args and kwargs in fp32 and, by id of the copy, (operand, copy); one copy for each operand."""
        copies: dict[int, Tensor] = {}
        pairs: dict[int, tuple[Tensor, Tensor]] = {}

        def up(a: Any) -> Any:
            if a is self.dtype:
                return torch.float32
            if not isinstance(a, Tensor) or a.dtype != self.dtype:
                return a
            if id(a) not in copies:
                copies[id(a)] = a.float()
                pairs[id(copies[id(a)])] = (a, copies[id(a)])
            return copies[id(a)]

        return tree_map(up, args), tree_map(up, kwargs), pairs

    def _compute(self, func: Any, args: Any, kwargs: Any, yields: tuple[bool, ...]) -> Any:
        wide_args, wide_kwargs, _ = self._raise_operands(args, kwargs)
        out = func(*wide_args, **wide_kwargs)
        flags = iter(yields)
        return tree_map(lambda o: self._round(o) if next(flags) and isinstance(o, Tensor) else o, out)

    def _write_back(self, func: Any, args: Any, kwargs: Any) -> Any:
        wide_args, wide_kwargs, pairs = self._raise_operands(args, kwargs)
        out = func(*wide_args, **wide_kwargs)
        for copy in _written(func, wide_args, wide_kwargs):
            if id(copy) in pairs:
                operand = pairs[id(copy)][0]
                if operand.shape != copy.shape:
                    operand.resize_(copy.shape)
                operand.copy_(self._round(copy))
        wide = any(isinstance(a, Tensor) and a.dtype == torch.float32 for a in tree_iter((args, kwargs)))

        def back(o: Any) -> Any:
            if id(o) in pairs:
                return pairs[id(o)][0]
            fresh = isinstance(o, Tensor) and o.dtype == torch.float32 and not wide
            return self._round(o) if fresh else o

        return tree_map(back, out)

    def _round(self, x: Tensor) -> Tensor:
        """Round fp32 to the dtype once, after the jitter of another summation order."""
        if self.generator is not None and x.dtype == torch.float32:
            noise = torch.empty(x.shape, device=x.device).uniform_(-JITTER, JITTER, generator=self.generator)
            x = x * (1.0 + noise)
        return x.to(self.dtype)


def _written(func: Any, args: Any, kwargs: Any) -> list[Tensor]:
    """Return the tensors that the op's schema says it writes to."""
    if not func._schema.is_mutable:
        return []
    written: list[Tensor] = []
    for position, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = args[position] if position < len(args) else kwargs.get(argument.name)
            written += [t for t in tree_iter(value) if isinstance(t, Tensor)]
    return written


def _signature(func: Any, args: Any, kwargs: Any) -> Hashable:
    """Return all that type promotion looks at: op, dtypes, which tensors are 0-dimensional, kinds of scalars, flags."""

    def of(a: Any) -> Hashable:
        if isinstance(a, Tensor):
            return (a.dtype, a.dim() == 0)
        if a is None or isinstance(a, bool | torch.dtype):
            return a
        return type(a).__name__

    named = tuple(sorted((name, tuple(of(a) for a in tree_iter(value))) for name, value in kwargs.items()))
    return (func, tuple(of(a) for a in tree_iter(args)), named)
