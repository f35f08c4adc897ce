"""The pytest plugin: one test for each gate of a lab.toml, and nothing without the flag."""

import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import model_tests
import pytest

STUDENTS = Path(__file__).parent / "students"
LAB = """
[model]
family = "llama"
factory = "lab.model:build"
reference = "llama"
output = "logits"
[model.config]
vocab_size = 128
hidden_size = 32
layers = 2
heads = 4
kv_heads = 2
ffn_size = 64
context = 32
[[inputs]]
name = "tokens"
shape = [2, 24]
dtype = "int64"
low = 0
high = 128
[precision]
candidates = ["float16"]
[benchmark]
iterations = 1
"""
GATES = [
    "smoke", "fp32/finite", "fp32/right", "census/float32", "census/float16", "finite/float16", "precision/float16",
    "benchmark",
]  # fmt: skip


@pytest.fixture
def project(tmp_path):
    """Make a project; returns a function that runs pytest in it."""
    package = tmp_path / "src" / "lab"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_own.py").write_text("def test_own():\n    pass\n")
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\ntestpaths = ["tests"]\n')
    (tmp_path / "lab.toml").write_text(LAB)

    def run(*args, fault="", lab=LAB):
        (tmp_path / "lab.toml").write_text(lab)
        shutil.copy(STUDENTS / "llama.py", package / "model.py")
        text = (package / "model.py").read_text().replace('FAULT = ""', f"FAULT = {fault!r}")
        (package / "model.py").write_text(text)
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-ra", *args]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    return run


def test_without_the_flag_nothing_is_collected(project):
    code, out = project("--collect-only", "-q")
    assert code == 0
    assert "lab.toml" not in out
    assert "test_own" in out


@pytest.mark.parametrize(
    ("args", "own"),
    [([], True), (["."], True), (["lab.toml"], False), (["tests"], True)],
    ids=["none", ".", "file", "dir"],
)
def test_with_the_flag_every_gate_is_a_test_once(project, args, own):
    _, out = project("--model-tests", "--collect-only", "-q", *args)
    found = [line.removeprefix("lab.toml::") for line in out.splitlines() if line.startswith("lab.toml::")]
    assert found == GATES
    assert ("test_own" in out) is own


def test_one_gate_can_be_asked_for_by_name(project):
    _, out = project("--model-tests", "--collect-only", "-q", "lab.toml::precision/float16")
    assert "lab.toml::precision/float16" in out
    assert "smoke" not in out


def test_a_faulty_model_fails_its_gate_in_words_and_in_junit(project, tmp_path):
    code, out = project("--model-tests", "lab.toml", "--junitxml=junit.xml", fault="overflow")
    assert code == 1
    assert "something grew past 65504, first in layers.0.feed_forward" in out
    assert "Traceback" not in out
    assert "Error" not in out
    assert "PASS           smoke" in out
    assert "NOT APPLICABLE precision/float16" in out
    assert "1 failed, 5 passed, 2 skipped" in out
    cases = {case.get("name"): case for case in ElementTree.parse(tmp_path / "junit.xml").iter("testcase")}  # noqa: S314
    assert list(cases) == GATES
    properties = {p.get("name"): p.get("value") for p in cases["finite/float16"].iter("property")}
    assert properties["module"] == "layers.0.feed_forward"
    assert float(properties["value"]) > float(properties["bound"]) == 0
    assert "no-mask" not in out


def test_a_model_that_cannot_be_run_fails_smoke_and_skips_the_rest(project):
    code, out = project("--model-tests", "lab.toml", lab=LAB.replace("lab.model:build", "lab.model:bild"))
    assert code == 1
    assert "lab.model must define a function bild(**config); found nothing" in out
    assert "1 failed, 7 skipped" in out


def test_a_broken_lab_toml_is_an_error_in_words(project):
    code, out = project("--model-tests", "lab.toml", lab=LAB.replace('"float16"', '"fp16"'))
    assert code != 0
    assert "lab.toml: precision.candidates: found 'fp16'; allowed: one of" in out
    assert "Traceback" not in out


def test_loading_the_plugin_loads_no_torch():
    code = "import sys, model_tests.plugin; sys.exit('torch' in sys.modules)"
    env = {**os.environ, "PYTHONPATH": str(Path(model_tests.__file__).parent.parent)}
    assert subprocess.run([sys.executable, "-c", code], env=env, check=False).returncode == 0
