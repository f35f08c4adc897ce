"""Course-owned models with the same state-dict keys as the students': the truth that a student's code is held to."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn

# Name in lab.toml -> module; imported only when asked for, so that reading a spec needs no torch.
REFERENCES = {"llama": "model_tests.references.llama", "resnet50": "model_tests.references.resnet"}


def factory(name: str) -> Callable[..., nn.Module]:
    """Return the reference's `build(**config)`; KeyError for a name that is not in REFERENCES."""
    build: Callable[..., Any] = importlib.import_module(REFERENCES[name]).build
    return build
