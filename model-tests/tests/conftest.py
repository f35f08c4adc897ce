"""Fixtures that judge a student's model in this process, where only the numbers matter."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

STUDENTS = Path(__file__).parent / "students"
LLAMA = {
    "vocab_size": 128, "hidden_size": 32, "layers": 2, "heads": 4, "kv_heads": 2, "ffn_size": 64, "context": 32,
}  # fmt: skip
TOKENS = {"name": "tokens", "shape": [2, 24], "dtype": "int64", "low": 0, "high": 128}


@pytest.fixture
def student(monkeypatch):
    """Return a loader of a module in students/, importable under its name for this test only."""

    def load(name, **settings):
        spec = importlib.util.spec_from_file_location(f"student_{name}", STUDENTS / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
        for key, value in settings.items():
            monkeypatch.setattr(module, key, value)
        return module

    return load


@pytest.fixture
def llama_spec():
    """Return a spec of a tiny LLaMA held against the reference; keyword arguments replace keys."""

    def make(**changes):
        from model_tests.spec import Spec

        raw = {"factory": "student_llama:build", "reference": "llama", "output": "logits", "config": LLAMA}
        return Spec.from_dict(raw | {"inputs": [TOKENS], "iterations": 1} | changes)

    return make


@pytest.fixture
def zoo_spec():
    """Return a spec of a model in students/zoo.py, without a reference."""

    def make(factory, shape, config, output="tensor", **changes):
        from model_tests.spec import Spec

        raw = {"factory": f"student_zoo:{factory}", "output": output, "config": config, "iterations": 1}
        return Spec.from_dict(raw | {"inputs": [{"name": "x", "shape": shape, "dtype": "float32"}]} | changes)

    return make


@pytest.fixture
def produced(tmp_path):
    """Run the child's stages in this process and write what produce would have; returns the folder."""

    def run(spec, seed=1, device="cpu"):
        import torch
        from model_tests.draw import draw
        from model_tests.producing import child, parent, settings
        from model_tests.producing.handover import Handover
        from model_tests.producing.supervise import Outcome

        folder, out = tmp_path / "handover", tmp_path / "produced"
        for path in (folder, out):
            path.mkdir(exist_ok=True)
        settings.apply()
        handover = Handover(folder)
        device = torch.device(device)
        handover.report["environment"] = settings.environment(device)
        child.run(spec, [x.to(device) for x in draw(spec, seed).values()], handover, device)
        handover.close()
        parent.write(out, parent.gather(spec, folder, out, Outcome("exited", 0, 0.0, 0)))
        return out

    return run


@pytest.fixture
def judged(produced):
    """Produce and judge in this process; returns (result.json as JSON gives it back, gates by name)."""

    def run(spec, seed=1, device="cpu", accelerator="cpu"):
        from model_tests.judging.case import judge

        result = judge(spec, seed, produced(spec, seed, device), accelerator).content
        result = json.loads(json.dumps(result, allow_nan=False))
        return result, {gate["name"]: gate for gate in result["gates"]}

    return run
