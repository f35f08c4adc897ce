"""The base of our dispatch modes, and what makes torch show them every op."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, ExitStack
from unittest.mock import patch

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode


class EagerMode(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A TorchDispatchMode that does not load torch.compile: torch does so at the first op, which costs 4 seconds."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False


def op_by_op(model: nn.Module) -> AbstractContextManager[object]:
    """Make torch run the model's ops one by one, under no_grad, for a mode to see.

    A fused LSTM is one op and would be rounded once. Under inference_mode every composite op (linear, lstm) arrives
    whole and without autocast, so a model that switches it on itself runs without; the numbers are the same. Compiled
    functions run eagerly.
    """
    stack = ExitStack()
    inference = torch.autograd.grad_mode.inference_mode
    stack.enter_context(patch.multiple(inference, __enter__=lambda self: None, __exit__=lambda self, *error: None))
    if any(isinstance(module, nn.RNNBase) for module in model.modules()):
        stack.enter_context(torch.backends.cudnn.flags(enabled=False, allow_tf32=False))
        stack.callback(torch._C._set_mkldnn_enabled, torch._C._get_mkldnn_enabled())
        torch._C._set_mkldnn_enabled(False)
    if "torch._dynamo" in sys.modules:
        stack.enter_context(torch.compiler.set_stance("force_eager"))
    return stack
