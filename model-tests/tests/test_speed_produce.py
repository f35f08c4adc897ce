"""Draw, produce and judge with baselines, in real processes: what is timed is what was judged, and nothing is lost."""

import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import model_tests
import pytest

PACKAGE = Path(model_tests.__file__).parent
MODEL = """
import os, time
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(32, 32)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        {body}
        return self.linear(x)

def build():
    {build}
    return Model().eval()
"""
SPEC = {
    "factory": "m:build", "inputs": [{"name": "x", "shape": [16, 32], "dtype": "float32"}], "candidates": ["float16"],
    "iterations": 2, "timeout_seconds": 60, "memory_gib": 4, "budget_seconds": 60, "serving_dtype": "float16",
}  # fmt: skip
ROW = {"name": "teaching", "commit": "a" * 40, "reason": "", "factory": "m:build", "seed": 7}


def model(body="pass", build="pass"):
    return MODEL.format(body=body, build=build)


@pytest.fixture
def run(tmp_path):
    """Run the three commands of a verify pod; returns (record, result, exit code of the judge)."""

    def command(*arguments, path=""):
        env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": f"{PACKAGE.parent}{path}"}
        return subprocess.run(
            [sys.executable, "-P", "-m", *arguments], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )

    def make(new, old):
        (tmp_path / "src").mkdir()
        (tmp_path / "src" / "m.py").write_text(new)
        (tmp_path / "plan.json").write_text(json.dumps({"spec": SPEC, "baselines": [ROW]}))
        with tarfile.open(tmp_path / "b.tar", "w") as tar:
            member = tarfile.TarInfo("teaching/src/m.py")
            member.size = len(old)
            tar.addfile(member, io.BytesIO(old.encode()))
        spec, seed = ["--spec", "plan.json"], ["--seed", "1"]
        drawn = command("model_tests.draw", *spec, *seed, "--out", ".", "--baselines", "b.tar")
        assert drawn.returncode == 0, drawn.stderr
        folders = ["--inputs", "inputs", "--baselines", "baselines", "--out", "out", "--accelerator", "cpu"]
        produced = command("model_tests.produce", *spec, *folders, path=f"{os.pathsep}{tmp_path / 'src'}")
        assert produced.returncode == 0, produced.stderr
        judged = command("model_tests.judge", *spec, *seed, "--produced", "out", "--out", "result.json")
        assert "Traceback" not in judged.stderr
        assert list((tmp_path / "out").glob("handover-*")) == []
        record = json.loads((tmp_path / "out" / "record.json").read_text())
        return record, json.loads((tmp_path / "result.json").read_text()), judged.returncode

    return make


def speed(result):
    return next(gate for gate in result["gates"] if gate["name"] == "speed/teaching")


def test_a_slow_model_fails_by_its_speed_alone(run):
    record, result, code = run(model("time.sleep(0.05)"), model("time.sleep(0.005)"))
    assert speed(result)["key"] == "speed.regression", record["speed"]
    assert code == 1
    assert [gate["name"] for gate in result["gates"] if gate["verdict"] == "FAIL"] == ["speed/teaching"]
    assert result["speed"]["sides"]["candidate"]["avg_latency"] > 0.05
    assert record["speed"]["sides"]["candidate"]["operations"] == 2 * 16 * 32 * 32
    assert record["speed"]["gemm"]["operations"] in [2 * size**3 for size in (128, 512, 1024)]


@pytest.mark.parametrize(
    ("new", "old", "key"),
    [
        (model("if self.calls > 60: x = x * 2"), model(), "speed.wrong-answer"),
        (model(), model(build="raise RuntimeError('old')"), "speed.baseline-failed"),
    ],
    ids=["another answer after some calls", "a baseline that cannot be built"],
)
def test_trouble_while_timing_blocks_nothing_and_is_said(run, new, old, key):
    record, result, code = run(new, old)
    assert record["status"] == "ok"
    assert speed(result)["key"] == key, record["speed"]
    assert speed(result)["verdict"] == "INCONCLUSIVE"
    assert code == 0
    assert result["verdict"] == "PASS"
