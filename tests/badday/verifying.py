"""A student's file through the real `produce` (parent and child) and the real judge."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MODEL = """
import errno, os, resource, sys
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(32, 32)

    def forward(self, x):
        {forward}
        return self.linear(x)

def build():
    {build}
    return Model().eval()
"""
SPEC: dict[str, Any] = {
    "factory": "student_code:build",
    "inputs": [{"name": "x", "shape": [16, 32], "dtype": "float32"}],
    "candidates": ["float16"],
    "iterations": 1,
    "timeout_seconds": 60,
    "memory_gib": 4,
}


@dataclass
class Bench:
    """A folder with one student's module; `verify` gives record.json (None when there is none) and result.json."""

    folder: Path

    def lay_out(self, forward: str = "pass", build: str = "pass", **changes: Any) -> None:
        import torch
        from model_tests.draw import draw
        from model_tests.spec import Spec

        for name in ("src", "inputs"):
            (self.folder / name).mkdir(exist_ok=True)
        (self.folder / "src" / "student_code.py").write_text(MODEL.format(forward=forward, build=build))
        spec = SPEC | changes
        (self.folder / "spec.json").write_text(json.dumps(spec))
        torch.save(draw(Spec.from_dict(spec), 1), self.folder / "inputs" / "inputs.pt")

    def command(self, module: str, *arguments: str) -> list[str]:
        return [sys.executable, "-P", "-m", f"model_tests.{module}", "--spec", "spec.json", *arguments]

    def environment(self) -> dict[str, str]:
        return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(self.folder / "src")}

    def produce(self) -> dict[str, Any]:
        command = self.command("produce", "--inputs", "inputs", "--out", "out", "--accelerator", "cpu")
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment(), capture_output=True, timeout=90, check=False
        )
        assert (done.returncode, done.stderr) == (0, b"")
        record: dict[str, Any] = json.loads((self.folder / "out" / "record.json").read_text())
        return record

    def judge(self) -> tuple[int, dict[str, Any]]:
        from model_tests.judge import main

        names = ("--spec", "spec.json"), ("--produced", "out"), ("--out", "result.json")
        code = main(["--seed", "1", *(word for name, file in names for word in (name, str(self.folder / file)))])
        return code, json.loads((self.folder / "result.json").read_text())

    def verify(self, **code: Any) -> tuple[dict[str, Any], int, dict[str, Any]]:
        self.lay_out(**code)
        record = self.produce()
        return record, *self.judge()
