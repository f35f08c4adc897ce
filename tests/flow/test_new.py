"""`gpulab new`: what it refuses, and that a new project can be pushed at once."""

import subprocess
import sys
from pathlib import Path

import pytest


def new(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gpulab.cli", "new", "--defaults", "--output", str(folder), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("answer", ["{{ 7*7 }}", "{% raw %}", "{# note #}", "{{cookiecutter}}"])
def test_an_answer_is_text_not_a_template(tmp_path: Path, answer: str) -> None:
    made = new(tmp_path, "--name", answer)
    assert made.returncode == 2
    assert "an answer is text" in made.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_refused_answer_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    made = new(tmp_path, "--name", "torch")
    assert made.returncode == 2
    assert "Traceback" not in made.stdout + made.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_existing_folder_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "gpu-lab-1").mkdir()
    (tmp_path / "gpu-lab-1" / "mine").write_text("keep")
    made = new(tmp_path)
    assert made.returncode == 2
    assert (tmp_path / "gpu-lab-1" / "mine").read_text() == "keep"


def test_a_new_project_is_connected_and_clean(tmp_path: Path) -> None:
    assert new(tmp_path, "--name", "Übung 3 🚀", "--author", 'O\'Brien "x"').returncode == 0
    project = tmp_path / "ubung-3"
    listed = subprocess.run(["git", "ls-remote", "lab"], cwd=project, capture_output=True, text=True, check=False)
    assert listed.returncode == 0, listed.stderr
    status = subprocess.run(["git", "status", "--porcelain"], cwd=project, capture_output=True, text=True, check=True)
    assert status.stdout == ""
    check = [sys.executable, "-m", "gpulab.cli", "check"]
    assert subprocess.run(check, cwd=project, capture_output=True, check=False).returncode == 0
