"""From lab.toml to answers: build the model as the platform does, check a request's numbers, run it once."""

import importlib
import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

LAB = Path(__file__).resolve().parents[2] / "lab.toml"
MAX_BATCH = 32


class BadInput(ValueError):
    """The request cannot be answered; the text says why, in words."""


class NotFinite(ArithmeticError):
    """The model answered with NaN or infinity: never passed on."""


def read_lab(path: Path = LAB) -> dict[str, Any]:
    """The project's contract."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


class Predictor:
    """The model of a lab.toml with its seeded weights, in the dtype that is served."""

    def __init__(self, lab: Mapping[str, Any]):
        self.declared: list[dict[str, Any]] = lab["inputs"]
        self.dtype: torch.dtype = getattr(torch, lab["serving"]["dtype"])
        self.device = torch.device(os.environ.get("DEVICE", "cpu"))  # `cuda` where the manifests ask for a GPU
        module, _, name = lab["model"]["factory"].partition(":")
        torch.manual_seed(lab["model"]["seed"])
        model: nn.Module = getattr(importlib.import_module(module), name)(**lab["model"]["config"])
        self.model = model.to(self.device, self.dtype).eval()

    def warm_up(self) -> None:
        """Run once on the least numbers of the declared shapes, so that the first request is not the slow one."""
        kinds = [(one["shape"], one.get("low", 0), getattr(torch, one["dtype"])) for one in self.declared]
        self.run([torch.full(shape, least, dtype=dtype) for shape, least, dtype in kinds])

    @torch.inference_mode()
    def run(self, inputs: list[Tensor]) -> Tensor:
        """The model's output for tensors in the order of its forward."""
        placed = (one.to(self.device, self.dtype if one.is_floating_point() else one.dtype) for one in inputs)
        output = self.model(*placed)
        return output[0] if isinstance(output, tuple) else output

    def answer(self, inputs: Mapping[str, Any]) -> bytes:
        """`{"outputs": …}` as JSON for named, nested lists of numbers.

        Raises:
            BadInput: a name, a shape or a number that the model cannot take.
            NotFinite: the output has NaN or infinity in it.
        """
        tensors = self.tensors(inputs)
        try:
            output = self.run(tensors)
        except ValueError as error:  # the model's own words, such as "130 tokens, but the model's context is 128"
            raise BadInput(str(error)) from error
        if not output.isfinite().all():
            raise NotFinite("the model's answer has NaN or infinity in it")
        return json.dumps({"outputs": output.float().tolist()}).encode()

    def tensors(self, inputs: Mapping[str, Any]) -> list[Tensor]:
        """Checked tensors in the order of the model's forward."""
        names = [one["name"] for one in self.declared]
        if set(inputs) != set(names):
            raise BadInput(f"inputs: expected {', '.join(names)}, got {', '.join(sorted(inputs)) or 'nothing'}")
        tensors = [to_tensor(one, inputs[one["name"]]) for one in self.declared]
        if len({len(one) for one in tensors}) > 1:
            raise BadInput(f"inputs: batch sizes differ: {', '.join(str(len(one)) for one in tensors)}")
        return tensors


def to_tensor(declared: Mapping[str, Any], values: Any) -> Tensor:
    """Nested lists as the tensor that one table of [[inputs]] declares; batch and lengths are free."""
    name, rank = declared["name"], len(declared["shape"])
    try:
        tensor = torch.tensor(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise BadInput(f"inputs.{name}: not a regular nested list of numbers ({error})") from error
    if tensor.dim() != rank or tensor.numel() == 0:
        raise BadInput(f"inputs.{name}: expected {rank} nested lists, none empty; got shape {list(tensor.shape)}")
    if len(tensor) > MAX_BATCH:
        raise BadInput(f"inputs.{name}: at most {MAX_BATCH} rows in one request, got {len(tensor)}")
    return _whole(declared, tensor) if declared["dtype"] == "int64" else _real(name, tensor)


def _whole(declared: Mapping[str, Any], tensor: Tensor) -> Tensor:
    name, low, high = declared["name"], declared["low"], declared["high"]
    if tensor.dtype != torch.int64:
        raise BadInput(f"inputs.{name}: expected whole numbers, got {str(tensor.dtype).removeprefix('torch.')}")
    if tensor.min() < low or tensor.max() >= high:
        found = f"{tensor.min().item()} to {tensor.max().item()}"
        raise BadInput(f"inputs.{name}: expected numbers from {low} to {high - 1}, got {found}")
    return tensor


def _real(name: str, tensor: Tensor) -> Tensor:
    if tensor.dtype == torch.bool or not tensor.isfinite().all():
        raise BadInput(f"inputs.{name}: expected finite numbers")
    return tensor.float()
