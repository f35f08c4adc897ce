"""Drawing inputs: the same everywhere, within what was asked for."""

import json
import subprocess
import sys

import pytest
import torch
from model_tests import draw
from model_tests.spec import Spec

RAW = {
    "factory": "a:b",
    "inputs": [
        {"name": "tokens", "shape": [4, 64], "dtype": "int64", "low": 3, "high": 9},
        {"name": "image", "shape": [4, 3, 8, 8], "dtype": "float32"},
    ],
}


def test_the_same_seed_gives_the_same_values_and_another_seed_others():
    spec = Spec.from_dict(RAW)
    first, again, other = draw.draw(spec, 1), draw.draw(spec, 1), draw.draw(spec, 2)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not any(torch.equal(first[name], other[name]) for name in first)


def test_values_are_as_declared():
    drawn = draw.draw(Spec.from_dict(RAW), 0)
    assert list(drawn) == ["tokens", "image"]
    assert (drawn["tokens"].dtype, drawn["tokens"].min(), drawn["tokens"].max()) == (torch.int64, 3, 8)
    assert drawn["image"].dtype == torch.float32
    assert abs(drawn["image"].std() - 1) < 0.1


def test_the_global_generator_is_left_alone():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    draw.draw(Spec.from_dict(RAW), 0)
    assert torch.equal(torch.rand(3), expected)


def test_the_command_writes_inputs_and_a_harness_that_runs_from_there(tmp_path):
    spec = tmp_path / "plan.json"
    spec.write_text(json.dumps({"schema": "gpulab/plan/v1", "spec": RAW}))
    harness = tmp_path / "harness"
    (harness / "model_tests").mkdir(parents=True)
    (harness / "model_tests" / "old.py").write_text("")
    args = ["--spec", str(spec), "--seed", "7", "--out", str(tmp_path), "--harness", str(harness)]
    assert draw.main(args) == 0
    found = torch.load(tmp_path / "inputs" / "inputs.pt", weights_only=True)
    assert torch.equal(found["tokens"], draw.draw(Spec.from_dict(RAW), 7)["tokens"])
    assert not (harness / "model_tests" / "old.py").exists()
    code = "import model_tests.produce, model_tests; print(model_tests.__file__)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], env={"PYTHONPATH": str(harness)}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip().startswith(str(harness))


@pytest.mark.parametrize(("text", "code"), [("{}", 2), ("not json", 2)])
def test_a_spec_that_is_none_is_exit_2(tmp_path, text, code, capsys):
    (tmp_path / "spec.json").write_text(text)
    assert draw.main(["--spec", str(tmp_path / "spec.json"), "--seed", "0", "--out", str(tmp_path)]) == code
    assert capsys.readouterr().err.startswith("draw: spec: ")


def test_a_folder_that_cannot_be_written_is_exit_3(tmp_path):
    (tmp_path / "spec.json").write_text(json.dumps(RAW))
    (tmp_path / "file").write_text("")
    assert draw.main(["--spec", str(tmp_path / "spec.json"), "--seed", "0", "--out", str(tmp_path / "file")]) == 3
