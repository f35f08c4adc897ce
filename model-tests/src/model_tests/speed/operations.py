"""How many floating-point operations a run has, by torch's own formulas: GEMM, convolution and attention only."""

from __future__ import annotations

from typing import Any

from torch.utils.flop_counter import flop_registry

from model_tests.precision.mode import EagerMode


class Operations(EagerMode):  # type: ignore[no-untyped-call]
    """Counts into `total`; a lower bound, since elementwise work is left out.

    torch's FlopCounterMode counts the same, and loads torch.compile for it, which takes seconds.
    """

    def __init__(self) -> None:
        super().__init__()
        self.total = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run one op and count it."""
        out = func(*args, **(kwargs or {}))
        formula = flop_registry.get(func._overloadpacket)
        if formula is not None:
            self.total += formula(*args, **(kwargs or {}), out_val=out)
        return out
