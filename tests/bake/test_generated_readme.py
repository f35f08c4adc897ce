"""What the baked README tells: every verb, command, file and fault that it names exists."""

import re

import pytest
from gpulab.faults import faults, faults_of, plant

from .conftest import MODELS, ROOT, run_in


@pytest.fixture(scope="module")
def readme(project) -> str:
    return (project / "README.md").read_text(encoding="utf-8")


def blocks(text: str) -> list[str]:
    return re.findall(r"^```\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_every_verb_of_make_exists(project, readme):
    verbs = set(re.findall(r"^([a-z]+):", (project / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    code = "\n".join([*re.findall(r"`(make[^`]*)`", readme), *blocks(readme)])
    named = {verb for line in re.findall(r"^make ([a-z ]+)", code, re.MULTILINE) for verb in line.split()}
    assert {"setup", "fix", "check", "test", "verify", "push"} <= named
    assert named <= verbs


def test_every_command_of_gpulab_exists(readme):
    code = "\n".join([*re.findall(r"`([^`\n]*)`", readme), *blocks(readme)])
    named = set(re.findall(r"gpulab ([a-z]+)", code))
    assert named >= {"report", "promote", "status", "run", "watch", "cancel", "break"}
    listed = run_in(ROOT, "gpulab", "--help")
    assert listed.returncode == 0, listed.stderr
    assert named <= set(re.findall(r"\b[a-z]+\b", listed.stdout.partition("Commands")[2]))


def test_every_file_exists(project, readme):
    tree = next(block for block in blocks(readme) if block.startswith("lab.toml "))
    folder = project
    for line in tree.splitlines():
        name = line.split()[0]
        folder = folder if line.startswith(" ") else project
        assert list(folder.glob(name.rstrip("/"))), line
        folder = project / name if name.endswith("/") else folder


@pytest.mark.parametrize("starter", MODELS)
def test_every_fault_can_be_planted_in_its_starter(baked, starter):
    project = baked("student", starter, "cpu")
    readme = (project / "README.md").read_text(encoding="utf-8")
    model = (project / "src" / "gpu_lab_1" / "model.py").read_text(encoding="utf-8")
    for fault in faults():
        assert (f"`{fault.name}`" in readme) == (fault.family == starter), fault.name
        assert fault.family != starter or plant(model, fault) != model
    assert f"\ngpulab break {faults_of(starter)[0].name} " in readme


def test_the_course_is_named_only_when_there_is_one(bake, readme):
    assert "Course:" not in readme
    assert "Course: gpu-101\n" in (bake(course="gpu-101") / "README.md").read_text(encoding="utf-8")
