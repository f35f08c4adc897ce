"""Reading the tensors that produce left: weights only, and every shape, dtype and size checked."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from model_tests.precision.blame import by_key
from model_tests.precision.capture import Call, Key
from model_tests.precision.transport import FLOATING, DamagedError, plain_tensor, unpack
from model_tests.producing.plain_files import open_plain

MOST_FLOORS = 16
STATE = FLOATING | {torch.int64, torch.int32, torch.bool, torch.uint8, torch.complex64, torch.complex128}


@dataclass(frozen=True)
class Run:
    """One run: the output on the CPU and the recorded calls in order of completion."""

    output: Tensor
    calls: dict[Key, Call]


@dataclass(frozen=True)
class CandidateRun:
    """The real run of a candidate, and its floors; no floors when they could not be measured."""

    real: Run
    floors: list[Tensor]
    floor_calls: dict[Key, Call]


GOLDEN = "golden"
"""The one file whose damage costs a gate and not the run."""


def check_sizes(produced: Path, most: float) -> None:
    """DamagedError when a file but the golden one is too large; see `check_size`."""
    for file in produced.glob("*.pt"):
        if file.stem != GOLDEN:
            check_size(file, most)


def check_size(file: Path, most: float) -> None:
    """DamagedError when a file is larger than `most` bytes: a process that held to its limit of memory left none."""
    size = file.lstat().st_size if os.path.lexists(file) else 0
    if size > most:
        raise DamagedError(f"{file.name} has {size} bytes, more than [limits] memory_gib lets a process hold")


def state(produced: Path) -> dict[str, Tensor]:
    """Read the state dict; DamagedError when it is not one."""
    content = _load(produced / "state.pt")
    if not all(isinstance(name, str) and len(name) <= 512 for name in content):
        raise DamagedError("state.pt has keys that are not names")
    return {name: plain_tensor(value, f"state.pt: {name}", STATE) for name, value in content.items()}


def run(produced: Path, name: str, shape: tuple[int, ...] | None, dtypes: frozenset[torch.dtype]) -> Run:
    """Read `<name>.pt`; `shape` None accepts any."""
    content = _load(produced / f"{name}.pt")
    return Run(_output(content.get("output"), name, shape, dtypes), by_key(unpack(content.get("calls", []))))


def candidate(produced: Path, name: str, shape: tuple[int, ...]) -> CandidateRun:
    """Read a candidate's file."""
    content = _load(produced / f"{name}.pt")
    real = Run(_output(content.get("output"), name, shape, FLOATING), by_key(unpack(content.get("calls", []))))
    floors = content.get("floors")
    if not isinstance(floors, list) or len(floors) > MOST_FLOORS:
        raise DamagedError(f"{name}.pt has no list of floors")
    outputs = [_output(floor, f"{name}: floor", shape, FLOATING) for floor in floors]
    return CandidateRun(real, outputs, by_key(unpack(content.get("floor_calls", []))))


def inputs(folder: Path) -> dict[str, Tensor]:
    """Read the shared inputs, only to see that they are what was drawn."""
    content = _load(folder / "inputs.pt")
    return {str(name): plain_tensor(value, "inputs.pt", FLOATING | {torch.int64}) for name, value in content.items()}


def _output(raw: object, name: str, shape: tuple[int, ...] | None, dtypes: frozenset[torch.dtype]) -> Tensor:
    output = plain_tensor(raw, f"{name}: output", dtypes)
    if not output.numel() or (shape is not None and tuple(output.shape) != shape):
        raise DamagedError(f"{name}: output has shape {list(output.shape)}, expected {list(shape or ())}")
    return output


def _load(file: Path) -> dict[Any, Any]:
    """Load a file of plain dicts of tensors and numbers: no pickled code is run."""
    try:
        with open_plain(file) as stream:
            content = torch.load(stream, map_location="cpu", weights_only=True)
    except FileNotFoundError as error:
        raise DamagedError(f"{file.name} is missing") from error
    except Exception as error:
        raise DamagedError(f"{file.name} cannot be read ({type(error).__name__})") from error
    if not isinstance(content, dict):
        raise DamagedError(f"{file.name} is not a table")
    return content
