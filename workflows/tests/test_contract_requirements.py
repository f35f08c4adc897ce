"""requirements.txt against the lane: what pip would put over the lane's torch, numpy, CUDA and Python."""

import re
from pathlib import Path

import pytest
from gpulab.contract.environment import environment_findings
from gpulab.contract.lanes import lanes
from gpulab.contract.repository import RepositoryFacts, facts_of
from gpulab.contract.requirements import Line, conflicts, read_requirements

ROOT = Path(__file__).parents[2]
LANES = {lane.name: lane for lane in lanes()}


def told(lane: str, *lines: str) -> list[str]:
    numbered = [Line("requirements.txt", number, text) for number, text in enumerate(lines, start=1)]
    return [f"{one.level} {one.where}: {one.message}" for one in conflicts(numbered, LANES[lane])]


@pytest.mark.parametrize(
    ("lane", "line"),
    [
        *(("cpu", line) for line in ("torch", "torch>=2.6", "torch==2.15.0", "torch==2.15.0+cpu", "Torch[opt]~=2.15")),
        *(("current", line) for line in ("torch==2.15.0+cu132", "nvidia-nccl-cu13==2.30", "cupy-cuda13x")),
        *(("legacy", line) for line in ("torch<2.15", "torch==2.14.0+cu126", "nvidia-cublas-cu12", "numpy>=1.26")),
        ("cpu", 'torch==2.3.0; python_version < "3.12"'),
        ("cpu", 'torch==2.3.0; sys_platform == "darwin"'),
        ("cpu", "torchvision==0.30.1"),
        ("cpu", "numpy"),
        ("cpu", "fastapi==0.115.0"),
        ("cpu", "nvidia-cublas-cu12"),
        ("current", "--index-url https://pypi.org/simple"),
        ("current", "--extra-index-url https://download.pytorch.org/whl/cu132"),
        ("cpu", "--extra-index-url=https://download.pytorch.org/whl/cpu"),
        ("cpu", "git+https://example.org/a.git@0123456#egg=torch"),
        ("cpu", "./local/package"),
        ("cpu", "mine @ https://example.org/mine-1.0.tar.gz"),
    ],
)
def test_what_agrees_is_not_told(lane: str, line: str) -> None:
    assert told(lane, line) == []


@pytest.mark.parametrize(
    ("lane", "line", "message"),
    [
        ("cpu", "torch==2.3.0", "found torch==2.3.0, the lane cpu (CPU only) has torch 2.15.0"),
        ("current", "torch<2.15", "found torch<2.15, the lane current (CUDA 13.2: Turing and later) has torch 2.15.0"),
        ("current", "torch==2.15.0+cu126", "found torch==2.15.0+cu126, the lane current"),
        ("legacy", "torch==2.15.0", "found torch==2.15.0, the lane legacy"),
        ("cpu", 'torch==2.3.0; python_version >= "3.12"', "found torch==2.3.0"),
        ("cpu", "torchvision==0.18.0", "torch 2.15.0 goes with torchvision 0.30"),
        ("cpu", "numpy==1.26.4", "found numpy==1.26.4, the lane cpu has numpy 2.5.5, which torch is built for"),
        ("cpu", "NumPy<2", "found NumPy<2, the lane cpu has numpy 2.5.5"),
        ("current", "nvidia-cudnn-cu12==9.1", "nvidia-cudnn-cu12 is for CUDA 12, the lane current has CUDA 13.2"),
        ("current", "cupy-cuda12x", "cupy-cuda12x is for CUDA 12"),
        ("current", "--index-url https://download.pytorch.org/whl/cu118", "found PyTorch's index cu118, the lane"),
        ("cpu", "--extra-index-url=https://download.pytorch.org/whl/nightly/cu130", "index cu130, the lane cpu has"),
        ("cpu", "python==3.10", "pip cannot install Python; the lane cpu has Python 3.12"),
        ("cpu", "torch=2.3", 'found "torch=2.3", which is no requirement'),
        ("cpu", "pip install torch", "which is no requirement"),
    ],
)
def test_what_contradicts_is_an_error_with_both_versions(lane: str, line: str, message: str) -> None:
    (found,) = told(lane, line)
    assert found.startswith("error line 1: ")
    assert message in found


def test_another_numpy_of_the_same_major_version_is_a_warning() -> None:
    assert told("cpu", "numpy==2.4.0") == ["warning line 1: found numpy==2.4.0, the lane cpu has numpy 2.5.5"]


def test_lines_are_joined_and_bared_as_pip_does(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "requirements.txt").write_text(
        "# torch==1\n\ntorch==2.15.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n"
        "numpy>=2  # why\n-r more/base.txt\n-c constraints.txt\nurl @ https://example.org/a#sha256=00\n"
    )
    (tmp_path / "more/base.txt").write_text("-r ../requirements.txt\nfastapi")
    (tmp_path / "constraints.txt").write_text("﻿uvicorn<1\n")
    lines, trouble = read_requirements(tmp_path)
    assert trouble == []
    assert [(line.file, line.number, line.text) for line in lines] == [
        ("requirements.txt", 3, "torch==2.15.0"),
        ("requirements.txt", 6, "numpy>=2"),
        ("requirements.txt", 7, "-r more/base.txt"),
        ("requirements.txt", 8, "-c constraints.txt"),
        ("requirements.txt", 9, "url @ https://example.org/a#sha256=00"),
        ("more/base.txt", 1, "-r ../requirements.txt"),
        ("more/base.txt", 2, "fastapi"),
        ("constraints.txt", 1, "uvicorn<1"),
    ]


@pytest.mark.parametrize("target", ["gone.txt", "../outside.txt", "/etc/hostname"])
def test_an_include_that_is_not_in_the_project_is_an_error(tmp_path: Path, target: str) -> None:
    (tmp_path / "outside.txt").write_text("torch==1.0")
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab/requirements.txt").write_text(f"-r {target}\n")
    lines, trouble = read_requirements(tmp_path / "lab")
    assert len(lines) == 1
    assert [one.level for one in trouble] == ["error"]


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        (".python-version", "3.10\n", ['.python-version: found "3.10", the lane cpu has Python 3.12. Type: 3.12']),
        (".python-version", "3.12.4\n", []),
        (".python-version", "pypy\n", []),
        ("pyproject.toml", '[project]\nrequires-python = ">=3.11,<3.12"\n', ['found ">=3.11,<3.12", the lane cpu has']),
        ("pyproject.toml", '[project]\nrequires-python = ">=3.12.3"\n', []),
        ("pyproject.toml", "[project]\nrequires-python = 3\n", []),
        ("pyproject.toml", "not TOML", []),
    ],
)
def test_a_python_that_the_lane_has_not_is_an_error(tmp_path: Path, file: str, text: str, told: list[str]) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_a.py").write_text("")
    (tmp_path / "Dockerfile").write_text("ARG LANE=gpulab.local/runtime-cpu:0.1.0\nFROM ${LANE}\n")
    (tmp_path / file).write_text(text)
    found = [str(one) for one in environment_findings(facts_of(tmp_path))]
    assert len(found) == len(told)
    assert all(part in line for part, line in zip(told, found, strict=True))


def test_an_image_of_the_projects_own_is_not_judged_by_a_lane() -> None:
    own = f"FROM example.org/mine@sha256:{'0' * 64}\n"
    facts = RepositoryFacts(own, True, requirements=(Line("requirements.txt", 1, "torch==1.0"),))
    assert list(environment_findings(facts)) == []


def test_the_lanes_say_what_their_images_install() -> None:
    """lanes.toml is compared with what images/runtime really builds."""
    pins = (ROOT / "images/runtime/requirements.txt").read_text(encoding="utf-8")
    for lane in lanes():
        assert f"numpy=={lane.installed['numpy']}\n" in pins
        recipe = ROOT / "images/runtime" / lane.name / "Dockerfile"
        if recipe.is_file():
            text = recipe.read_text(encoding="utf-8")
            assert re.search(rf"\btorch=={re.escape(lane.installed['torch'])}\b", text)
            assert f"python{lane.python}" in text or f"python:{lane.python}" in text
