"""The base of our dispatch modes."""

from __future__ import annotations

from torch.utils._python_dispatch import TorchDispatchMode


class EagerMode(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A TorchDispatchMode that does not load torch.compile: torch does so at the first op, which costs 4 seconds."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False
