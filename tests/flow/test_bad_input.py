"""A student's own mistakes: exit code 2, one clear sentence, nothing lost, no traceback."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

MODEL = Path("src/gpu_lab_1/model.py")


def refused(done: subprocess.CompletedProcess[str], *words: str) -> None:
    said = done.stdout + done.stderr
    assert done.returncode == 2, said
    assert "Traceback" not in said
    for word in words:
        assert word in said, said


def replace(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after, 1))


def test_a_folder_that_is_no_project(tmp_path: Path, lab: Any) -> None:
    lab.root = tmp_path
    refused(lab.gpulab("push"), "lab.toml")


def test_a_project_that_is_no_repository(lab: Any) -> None:
    subprocess.run(["rm", "-rf", str(lab.root / ".git")], check=True)
    refused(lab.gpulab("push"), "git init")


def test_a_repository_without_a_commit(lab: Any) -> None:
    subprocess.run(["rm", "-rf", str(lab.root / ".git")], check=True)
    lab.git("init", "-qb", "main")
    refused(lab.gpulab("push"), "no commit yet", "git add")


def test_a_dirty_tree_is_not_pushed_in_part(lab: Any) -> None:
    (lab.root / MODEL).write_text((lab.root / MODEL).read_text() + "\n# mine\n")
    refused(lab.gpulab("push"), str(MODEL), "git commit", "--allow-dirty")
    assert "# mine" in (lab.root / MODEL).read_text()


def test_an_unknown_key_is_refused_by_check_and_by_push(lab: Any) -> None:
    replace(lab.root / "lab.toml", "[serving]", "[serving]\nprot = 1")
    refused(lab.gpulab("check"), "lab.toml", "prot", "port")
    lab.commit()
    refused(lab.gpulab("push"), "lab.toml", "prot")


def factory(body: str) -> str:
    return f"def build(**config):\n{body}\n\n\ndef example_inputs(batch=4, length=64):\n    return ()\n"


# every other way to break a factory is a test of `model_tests.produce`; these go the whole path
FACTORIES = {
    "cannot be imported": "import nothing_like_this\n" + factory("    return None"),
    "segfaults": "import ctypes\n" + factory("    ctypes.string_at(0)"),
    "hangs": "import time\n" + factory("    time.sleep(3600)"),
}


@pytest.mark.parametrize("case", FACTORIES)
def test_a_factory_that_is_broken(lab: Any, case: str) -> None:
    (lab.root / MODEL).write_text(FACTORIES[case])
    lab.with_one_test()
    replace(lab.root / "lab.toml", "timeout_seconds = 300", "timeout_seconds = 15")
    lab.commit()
    refused(lab.gpulab("push"), "smoke")
    assert lab.deployed("teaching") is None


def test_inputs_of_the_wrong_shape(lab: Any) -> None:
    replace(lab.root / "lab.toml", "shape = [4, 64]", "shape = [4, 4, 4]")
    refused(lab.gpulab("check"), "[[inputs]]", "[4, 4, 4]")


def test_inputs_that_the_model_does_not_take(lab: Any) -> None:
    """A family that the contract knows nothing about: found when the model is run."""
    lab.with_one_test()
    replace(lab.root / "lab.toml", 'family = "llama"', 'family = "custom"')
    replace(lab.root / "lab.toml", "shape = [4, 64]", "shape = [4, 4, 4]")
    lab.commit()
    refused(lab.gpulab("push"), "smoke", "forward")


def test_a_run_folder_that_cannot_be_written(lab: Any, tmp_path: Path) -> None:
    assert lab.gpulab("connect").returncode == 0
    (lab.root / ".gpulab" / "runs").write_text("a file is in the way")
    push = lab.gpulab("push")
    assert push.returncode in (2, 3)
    assert "Traceback" not in push.stdout + push.stderr
