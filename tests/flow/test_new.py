"""`gpulab new`: what it refuses, and that a new project can be pushed at once."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

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


COURSE = """schema = 1
[course]
name = "gpu-101"
[answers]
accelerator = "t4"
[allowed]
model = ["resnet50"]
"""


@pytest.fixture
def course(tmp_path: Path) -> str:
    (tmp_path / "course.toml").write_text(COURSE, encoding="utf-8")
    return str(tmp_path / "course.toml")


def asked(folder: Path, typed: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gpulab.cli", "new", "--output", str(folder), *arguments]
    return subprocess.run(command, cwd=folder, input=typed, capture_output=True, text=True, check=False)


def project_of(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "lab.toml").read_text(encoding="utf-8"))


def test_a_course_asks_for_name_and_pseudonym_only(tmp_path: Path, course: str) -> None:
    made = asked(tmp_path, "My Lab\nkea\n", "--course", course)
    assert made.returncode == 0, made.stderr
    lab = project_of(tmp_path / "my-lab")
    assert (lab["project"]["author"], lab["project"]["course"]) == ("kea", "gpu-101")
    assert (lab["hardware"]["accelerators"], lab["model"]["family"]) == (["t4"], "llama")


def test_a_course_with_options_asks_nothing(tmp_path: Path, course: str) -> None:
    made = asked(tmp_path, "", "--course", course, "--name", "My Lab", "--author", "kea", "--model", "resnet50")
    assert made.returncode == 0, made.stderr
    assert project_of(tmp_path / "my-lab")["model"]["family"] == "resnet50"


@pytest.mark.parametrize(
    ("typed", "arguments", "words"),
    [
        ("", (), "--name"),
        ("My Lab\nkea\n", ("--model", "custom"), "allowed in gpu-101: llama, resnet50"),
        ("My Lab\nkea\n", ("--accelerator", "cpu"), "allowed in gpu-101: t4"),
        ("My Lab\nkea\n", ("--forge", "gitea"), "allowed in gpu-101: local"),
        ("torch\nkea\n", (), "torch-lab"),
        ("{{ 7*7 }}\nkea\n", (), "an answer is text"),
    ],
)
def test_what_a_course_does_not_allow_is_refused_in_words(
    tmp_path: Path, course: str, typed: str, arguments: tuple[str, ...], words: str
) -> None:
    made = asked(tmp_path, typed, "--course", course, *arguments)
    assert (made.returncode, "Traceback" in made.stderr) == (2, False), made.stderr
    assert words in made.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["course.toml"]


def test_a_choice_that_the_template_does_not_offer_is_refused(tmp_path: Path) -> None:
    made = new(tmp_path, "--model", "lama")
    assert (made.returncode, "Traceback" in made.stderr) == (2, False)
    assert "llama" in made.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "--defaults"),
        (("--defaults", "--template", "https://127.0.0.1:9/x.git"), 3, "cannot be fetched"),
    ],
)
def test_what_cannot_be_made_is_told_in_one_line(
    tmp_path: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    made = asked(tmp_path, "", *arguments)
    assert (made.returncode, "Traceback" in made.stderr) == (code, False), made.stderr
    assert words in made.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_gpu_that_is_not_here_is_told_before_anything_is_pushed(tmp_path: Path) -> None:
    """No verdict could come of it: not a FAIL, not a run that waits."""
    assert new(tmp_path, "--accelerator", "h100").returncode == 0
    project = tmp_path / "gpu-lab-1"
    no_driver = {**os.environ, "PATH": os.pathsep.join(without_driver(os.environ["PATH"]))}

    def gpulab(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "gpulab.cli", *arguments]
        return subprocess.run(command, cwd=project, env=no_driver, capture_output=True, text=True, check=False)

    check, push = gpulab("check"), gpulab("push")
    assert check.returncode == 0
    assert "nothing can be proven on h100 here" in check.stdout
    assert (push.returncode, "Traceback" in push.stderr) == (2, False)
    assert "nothing can be proven on h100 here" in push.stderr
    listed = subprocess.run(["git", "ls-remote", "lab"], cwd=project, capture_output=True, text=True, check=True)
    assert listed.stdout == ""
    assert not list((project / ".gpulab").glob("runs/*"))


def without_driver(path: str) -> list[str]:
    """The folders of PATH that hold no `nvidia-smi`."""
    return [folder for folder in path.split(os.pathsep) if not (Path(folder) / "nvidia-smi").exists()]
