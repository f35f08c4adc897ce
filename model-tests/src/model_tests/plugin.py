"""The pytest plugin: `pytest --model-tests` judges the project of a lab.toml, one test for each gate.

Off without the flag. The student's code never runs in pytest's process: the gates are the result of draw, produce and
judge, three processes that are started once, when the first gate is asked for. Imports no torch.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from model_tests.fields import SpecError
from model_tests.spec import Spec
from model_tests.verdict import Gate, Verdict

LAB = "lab.toml"
RESULTS = pytest.StashKey[list[Gate]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the flag and its options."""
    group = parser.getgroup("model-tests", "precision gates of a lab.toml")
    group.addoption("--model-tests", action="store_true", help="judge the project of lab.toml, one test for each gate")
    group.addoption("--model-tests-seed", type=int, default=0, help="seed of the drawn inputs (default: %(default)s)")


def pytest_configure(config: pytest.Config) -> None:
    """Collect the root's lab.toml, too, when no argument leads to it (`testpaths = tests`)."""
    lab = config.rootpath / LAB
    if config.getoption("--model-tests"):
        config.stash[RESULTS] = []
        given = [(config.invocation_params.dir / str(arg).partition("::")[0]).resolve() for arg in config.args]
        if lab.is_file() and not any(path.name == LAB or path in lab.parents for path in given):
            config.args.append(str(lab))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect lab.toml as a file of gates."""
    if file_path.name == LAB and parent.config.getoption("--model-tests"):
        return LabFile.from_parent(parent, path=file_path)
    return None


class LabFile(pytest.File):
    """A lab.toml; judges on first use and keeps the result."""

    result: dict[str, Any] | None = None

    def collect(self) -> Iterator[pytest.Item]:
        """Yield one item for each gate that the spec leads to."""
        try:
            spec = Spec.from_lab(self.path)
        except SpecError as error:
            raise self.CollectError(str(error)) from error
        for name in gate_names(spec):
            yield GateItem.from_parent(self, name=name)

    def gate(self, name: str) -> Gate | None:
        """Return a gate of the result, None when the judge did not get to it."""
        if self.result is None:
            self.result = judge(self.path, self.config.getoption("--model-tests-seed"))
        rows = [row for row in self.result["gates"] if row["name"] == name]
        return Gate.from_dict(rows[0]) if rows else None


class GateItem(pytest.Item):
    """A gate as a test: INCONCLUSIVE and NOT APPLICABLE are skipped, with the reason."""

    def runtest(self) -> None:
        """Ask for the gate; its numbers go to JUnit's properties."""
        assert isinstance(self.parent, LabFile)  # noqa: S101 - a gate is collected by its file
        gate = self.parent.gate(self.name)
        if gate is None:
            pytest.skip("not reached: see smoke")
        self.config.stash[RESULTS].append(gate)
        for name in ("value", "bound", "unit", "module"):
            if getattr(gate, name) not in (None, ""):
                self.user_properties.append((name, getattr(gate, name)))
        if gate.verdict is Verdict.FAIL:
            raise GateFailed(gate)
        if gate.verdict is not Verdict.PASS:
            pytest.skip(f"{gate.verdict}: {gate.why}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Say why and what to change; no traceback for a gate."""
        if isinstance(excinfo.value, GateFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Name the gate as pytest's headings show it."""
        return self.path, None, f"{self.path.name}::{self.name}"


class GateFailed(Exception):  # noqa: N818 - it is the outcome, not an error of this program
    """A gate that failed, in words."""

    def __init__(self, gate: Gate) -> None:
        lines = [gate.why, gate.change]
        if gate.module:
            lines.append(f"module: {gate.module}" + (f" {list(gate.shape)}" if gate.shape else ""))
        super().__init__("\n".join(line for line in lines if line))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print one line for each gate."""
    gates = config.stash.get(RESULTS, [])
    if gates:
        terminalreporter.section("model tests")
    for gate in gates:
        measured = (
            "" if gate.value is None or gate.bound is None else f"  {gate.value:.3g} ≤ {gate.bound:.3g} {gate.unit}"
        )
        if gate.verdict is Verdict.FAIL:
            measured = measured.replace("≤", ">", 1)
        place = f"  {gate.module}" if gate.module else ""
        terminalreporter.write_line(f"{gate.verdict:<14} {gate.name:<28}{measured}{place}")


def gate_names(spec: Spec) -> list[str]:
    """Return the names of the gates that the judge gives for a spec, in its order."""
    right = "fp32/right" if spec.reference else "fp32/self-consistency"
    names = ["smoke", "fp32/finite", right, "census/float32"]
    for candidate in spec.candidates:
        names += [f"{kind}/{candidate}" for kind in ("census", "finite", "precision")]
    names += [f"int8/{scheme}" for scheme in (spec.int8.schemes if spec.int8 else ())]
    return [*names, "benchmark"]


def judge(lab: Path, seed: int) -> dict[str, Any]:
    """Run draw, produce and judge on the CPU for a project folder; returns result.json."""
    with tempfile.TemporaryDirectory(prefix="model-tests-") as folder:
        work = Path(folder)
        spec = work / "spec.json"
        spec.write_text(json.dumps(Spec.from_lab(lab).to_dict()), encoding="utf-8")
        result = work / "result.json"
        drawn, produced = ["--seed", str(seed)], work / "produced"
        _run("draw", lab, ["--spec", spec, *drawn, "--out", work])
        accelerator = ["--accelerator", "cpu"]
        _run("produce", lab, ["--spec", spec, "--inputs", work / "inputs", "--out", produced, *accelerator])
        _run("judge", lab, ["--spec", spec, *drawn, "--produced", produced, "--out", result, *accelerator])
        content: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    return content


def _run(module: str, lab: Path, arguments: list[Any]) -> None:
    """Run a step; only `produce` gets the project's src. A step that leaves nothing behind is an error of ours."""
    source = [str(lab.parent / "src"), os.environ.get("PYTHONPATH", "")] if module == "produce" else []
    paths = [str(Path(__file__).parent.parent), *source]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    command = [sys.executable, "-P", "-m", f"model_tests.{module}", *map(str, arguments)]
    done = subprocess.run(command, env=env, cwd=lab.parent, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 2, 3) or (module == "draw" and done.returncode):
        raise RuntimeError(f"model_tests.{module} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
