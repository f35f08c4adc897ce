"""The student's code as data: import the factory, build models, call them; every way it can fail becomes one line."""

from __future__ import annotations

import importlib
import random
import sys
import sysconfig
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor, nn

from model_tests.precision.candidates import FLOAT32, Candidate
from model_tests.producing import machine, settings
from model_tests.spec import Spec
from model_tests.untrusted import flat

T = TypeVar("T")
Status = Literal["input-error", "out-of-memory", "harness-error"]
OUT_OF_MEMORY = ("can't allocate memory", "out of memory")


class StudentError(Exception):
    """What the student's code did wrong, in one line; `status` as in record.json (harness-error: the machine did)."""

    def __init__(self, message: str, status: Status = "input-error") -> None:
        super().__init__(one_line(message))
        self.status = status


class Student:
    """The project's factory and its weights. `model()` always builds afresh: a copy would share closures."""

    def __init__(self, spec: Spec, device: torch.device) -> None:
        self.spec, self.device = spec, device
        self.factory: Callable[..., Any] | None = None
        self.state: dict[str, Any] = {}

    def load(self) -> None:
        """Import the factory. StudentError when that fails."""
        module_name, _, name = self.spec.factory.partition(":")
        top = module_name.partition(".")[0]
        module = fetching(f"import {module_name}", importlib.import_module, module_name)
        factory = getattr(module, name, None)
        if not callable(factory):
            found = "nothing" if factory is None else type(factory).__name__
            shadowed = "; Python has a module of that name itself: rename yours" * (top in sys.stdlib_module_names)
            raise StudentError(f"{module_name} must define a function {name}(**config); found {found}{shadowed}")
        self.factory = factory

    def first(self) -> nn.Module:
        """Build the model whose weights are judged, and keep them. StudentError names what the contract wants.

        They are kept on the CPU: on the device they would take the room of a second model.
        """
        model = self._build()
        state = guard("state_dict()", model.state_dict)
        copies = {name: v.detach().to("cpu", copy=True) for name, v in state.items() if isinstance(v, Tensor)}
        self.state = {**state, **copies}
        return model

    def weights(self) -> dict[str, Tensor]:
        """Return the tensors of the state dict on the CPU; an extra state of another kind is left out."""
        return {name: packed(v) for name, v in self.state.items() if isinstance(v, Tensor)}

    def model(self, candidate: Candidate = FLOAT32) -> nn.Module:
        """Build again, load the weights, cast as the candidate says."""
        model = self._build()
        guard("build() a second time, with the first model's weights,", model.load_state_dict, self.state)
        prepared: nn.Module = guard(f"casting the model to {candidate.name}", candidate.prepare, model)
        return prepared

    def _build(self) -> nn.Module:
        seed(self.spec.seed)
        settings.apply()
        built = fetching("build()", self._call_factory)
        settings.apply()
        if not isinstance(built, nn.Module):
            raise StudentError(f"build() must return a torch.nn.Module; got {type(built).__name__}")
        wrong = [n for n, p in built.named_parameters() if p.is_floating_point() and p.dtype != torch.float32]
        if wrong:
            dtype = built.get_parameter(wrong[0]).dtype
            raise StudentError(
                f"build() must return float32 parameters; {wrong[0]} is {dtype}: leave the cast to the platform"
            )
        if any(module.training for module in built.modules()):
            raise StudentError("build() must return the model in eval mode; end it with `return model.eval()`")
        return built if places_itself(built) else built.to(self.device)

    def _call_factory(self) -> Any:
        assert self.factory is not None  # noqa: S101 - load() came first
        return self.factory(**self.spec.config)


def places_itself(model: nn.Module) -> bool:
    """Whether a model has spread itself over devices: Hugging Face's device_map, or parameters on several GPUs.

    Moving such a model to one GPU would undo what several were asked for, and accelerate's hooks refuse it.
    """
    if getattr(model, "hf_device_map", None):
        return True
    return len({parameter.device for parameter in model.parameters() if parameter.device.type == "cuda"}) > 1


def packed(x: Tensor) -> Tensor:
    """Return a contiguous copy on the CPU: a slice would be saved with all that it is a slice of."""
    return x.detach().cpu().clone(memory_format=torch.contiguous_format)


def forward(model: nn.Module, candidate: Candidate, inputs: list[Tensor]) -> Any:
    """Run the model on fresh copies of the inputs as the candidate says; no gradients."""
    settings.apply()
    with torch.no_grad(), candidate.context(inputs[0].device.type):
        return model(*candidate.inputs(inputs))


def guard(what: str, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """Call the student's code; what it raises, sys.exit too, becomes a StudentError. The traceback goes to the log."""
    try:
        return function(*args, **kwargs)
    except StudentError:
        raise
    except SystemExit as error:
        raise StudentError(f"{what} called sys.exit({error.code!r}){where(error)}") from error
    except BaseException as error:
        traceback.print_exc()
        text = f"{type(error).__name__}: {str(error) or 'no message'}"
        raise StudentError(f"{what} raised {one_line(text, 300)}{where(error)}", _status(error)) from error


def fetching(what: str, function: Callable[..., T], *args: Any) -> T:
    """`guard` for code that may download weights or data: a network that does not answer is the machine's trouble."""
    try:
        return guard(what, function, *args)
    except StudentError as error:
        if machine.unreachable(error):
            raise StudentError(str(error), "harness-error") from error
        raise


def _status(error: BaseException) -> Status:
    """Whose trouble an exception out of the student's code is."""
    if machine.trouble(error):
        return "harness-error"
    memory = isinstance(error, MemoryError) or any(m in str(error) for m in OUT_OF_MEMORY)
    return "out-of-memory" if memory else "input-error"


def where(error: BaseException) -> str:
    """Return " (file.py line N)" of the innermost frame that is the student's, "" when there is none."""
    if isinstance(error, SyntaxError) and error.filename:
        return f" ({short(error.filename)} line {error.lineno})"
    ours = (str(Path(__file__).parent.parent), str(Path(torch.__file__).parent), sysconfig.get_paths()["stdlib"], "<")
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(ours)]
    return f" ({short(frames[-1].filename)} line {frames[-1].lineno})" if frames else ""


def short(path: str) -> str:
    """Return the last two parts of a path: enough to find the file, and no path of this machine."""
    return "/".join(Path(path).parts[-2:])


def one_line(text: str, most: int = 500) -> str:
    """Return the text on one line, printable, at most `most` characters."""
    line = flat(text)
    return line if len(line) <= most else line[: most - 1] + "…"


def seed(value: int) -> None:
    """Seed every generator that a factory may draw weights from."""
    torch.manual_seed(value)
    random.seed(value)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(value % 2**32)
