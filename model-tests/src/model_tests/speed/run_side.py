"""The child process of one side: builds its model, and runs forwards when the parent says so.

It answers on what was its standard output, which the student's code does not get: a point after each timed step, for
the parent's clock, and then a line of JSON. Inputs are drawn before the clock starts; no input is used twice.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import gc
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from model_tests.draw import draw
from model_tests.precision.candidates import candidate
from model_tests.precision.mode import op_by_op
from model_tests.producing import checks, settings
from model_tests.producing.child import die_with_parent
from model_tests.producing.student import Student, StudentError, guard, one_line, packed
from model_tests.spec import Spec
from model_tests.speed.operations import Operations
from model_tests.speed.timing import WARM_UP
from model_tests.speed.warmup import fastest

GEMM_SIZES = {"cpu": (128, 512, 1024), "cuda": (4096,)}
GEMM_STEPS = 6


class Runner:
    """One side's model in the serving dtype; `seed` is of its inputs, `mark` tells that a timed step has ended."""

    def __init__(self, spec: Spec, seed: int, device: torch.device, mark: Callable[[], None]) -> None:
        self.spec, self.seed, self.device, self.mark = spec, seed, device, mark
        self.precision = candidate(spec.serving_dtype)
        self.what = checks.signature(spec)
        self.model: nn.Module | None = None

    def gemm(self) -> dict[str, Any]:
        """Multiply matrices of a known size: no machine does more than its peak, and a right clock says so."""
        size = fastest(GEMM_SIZES[self.device.type], self._product_seconds)
        a, b = self._matrices(size)
        a @ b
        self._step()
        for _ in range(GEMM_STEPS):
            a @ b
            self._step()
        return {"operations": 2 * size**3}

    def _matrices(self, size: int) -> list[Tensor]:
        return [torch.randn(size, size, device=self.device).to(self.precision.dtype) for _ in range(2)]

    def _product_seconds(self, size: int) -> float:
        """By our own clock: none of the student's code has been loaded yet."""
        a, b = self._matrices(size)
        taken = []
        for _ in range(1 + WARM_UP):
            started = time.perf_counter()
            a @ b
            self._wait()
            taken.append(time.perf_counter() - started)
        return min(taken)

    def load(self) -> dict[str, Any]:
        """Import, build, cast; says how large the model is and how many operations a forward has."""
        student = Student(self.spec, self.device)
        student.load()
        student.first()
        self.model = student.model(self.precision)
        weights = sum(p.numel() * p.element_size() for p in self.model.parameters())
        gc.collect()
        gc.disable()  # no pause in the middle of a step
        return {"weights_bytes": weights, "operations": self._operations()}

    def run(self, block: int, steps: int, repeat: int) -> dict[str, Any]:
        """Time `steps` steps of `repeat` forwards, after one that only fills the caches."""
        waiting = [self._fresh(block, number) for number in range(1 + steps * repeat)]
        settings.apply()
        started = time.perf_counter()
        with torch.no_grad(), self.precision.context(self.device.type):
            output = self._forward(waiting.pop())
            self._step()
            for _ in range(steps):
                for _ in range(repeat):
                    output = self._forward(waiting.pop())
                self._step()
        took = time.perf_counter() - started
        finite = bool(torch.isfinite(checks.tensor(output, self.what)).all())
        return {"finite": finite, "own_seconds": took}

    def answer(self, inputs: Path, out: Path) -> dict[str, Any]:
        """Answer the platform's inputs once more, and keep the answer: it must be what was judged."""
        drawn = torch.load(inputs / "inputs.pt", weights_only=True)
        given = self.precision.inputs([drawn[item.name].to(self.device) for item in self.spec.inputs])
        with torch.no_grad(), self.precision.context(self.device.type):
            output = packed(checks.tensor(self._forward(given), self.what))
        torch.save({"output": output, "calls": []}, out)
        return {}

    def _forward(self, inputs: list[Tensor]) -> Any:
        assert self.model is not None  # noqa: S101 - load() came first
        return guard(self.what, self.model, *inputs)

    def _fresh(self, block: int, number: int) -> list[Tensor]:
        """Inputs of this block and step, the same for every side."""
        seed = ((self.seed << 32) + (block << 20) + number) % 2**63  # a block has fewer than 2**20 forwards
        return self.precision.inputs([x.to(self.device) for x in draw(self.spec, seed).values()])

    def _step(self) -> None:
        self._wait()
        self.mark()

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def _operations(self) -> int | None:
        """None when an op's formula does not take what the model gave it."""
        assert self.model is not None  # noqa: S101 - load() came first
        with contextlib.suppress(Exception), torch.no_grad(), op_by_op(self.model):
            with self.precision.context(self.device.type), Operations() as counted:
                self.model(*self._fresh(0, 0))
            return int(counted.total)
        return None


def serve(runner: Runner, commands: Any, say: Callable[[dict[str, Any]], None], args: Any) -> None:
    """Do what the parent says, line by line, until it says no more."""
    for line in commands:
        command = json.loads(line)
        do = command.pop("do")
        does: dict[str, Callable[..., dict[str, Any]]] = {
            "gemm": runner.gemm,
            "load": runner.load,
            "run": runner.run,
            "answer": partial(runner.answer, args.inputs, args.answer),
        }
        say({"status": "ok", **does[do](**command)})


def main() -> None:
    """Serve until the parent ends; what goes wrong is said in one line, and ends this side only."""
    args = _arguments()
    die_with_parent()
    commands, replies = _own_streams()

    def say(document: dict[str, Any]) -> None:
        os.write(replies, json.dumps(document).encode() + b"\n")

    def mark() -> None:
        os.write(replies, b".")

    try:
        settings.apply()
        device = settings.device(args.accelerator)
        spec = dataclasses.replace(Spec.from_file(args.spec), factory=args.factory, seed=args.weights_seed)
        say({"status": "ok"})
        sys.path[0:0] = args.source
        serve(Runner(spec, args.inputs_seed, device, mark), commands, say, args)
    except StudentError as error:
        say({"status": error.status, "message": str(error)})
    except BaseException as error:
        traceback.print_exc()
        say({"status": "harness-error", "message": one_line(f"{type(error).__name__}: {error}")})
    os._exit(0)


def _own_streams() -> tuple[Any, int]:
    """Keep the pipes to the parent for us: prints of the student's code go to the log, and it reads nothing."""
    commands, replies = os.fdopen(os.dup(0), "r", encoding="utf-8"), os.dup(1)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    return commands, replies


def _arguments() -> Any:
    parser = argparse.ArgumentParser()
    for name in ("--spec", "--inputs", "--answer"):
        parser.add_argument(name, type=Path, required=True)
    for name in ("--weights-seed", "--inputs-seed"):
        parser.add_argument(name, type=int, required=True)
    parser.add_argument("--factory", required=True)
    parser.add_argument("--accelerator", default="")
    parser.add_argument("--source", action="append", default=[], help="folder of this side's modules")
    return parser.parse_args()


if __name__ == "__main__":
    main()
