"""Environments: what `setup` says and installs; and that the verbs without make are those with it."""

import os
import re
import shutil
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest
from gpulab.cli.develop import CPU_INDEX, PLATFORM, PROJECT, repository

ROOT = Path(__file__).parents[2]
TEMPLATE = next(path for path in ROOT.iterdir() if path.name.startswith("{{"))
LOCK = "# download linux-x86_64: 3125 MB\ntorch==2.9.0 \\\n    --hash=sha256:1\nuv==0.9.1 \\\n    --hash=sha256:2\n"


@pytest.fixture(scope="module")
def setup() -> ModuleType:
    spec = spec_from_file_location("setup_tool", ROOT / "workflows" / "tools" / "setup.py")
    assert spec and spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_download_is_told_from_the_lock(setup: ModuleType) -> None:
    assert "up to 3125 MB" in setup.said(LOCK, "linux-x86_64", Path("x"), "")
    assert "some hundred MB" in setup.said(LOCK, "windows-amd64", Path("x"), "")
    chosen = setup.said(LOCK, "linux-x86_64", Path("x"), "https://example.invalid/cpu")
    assert "https://example.invalid/cpu" in chosen
    assert "3125" not in chosen


@pytest.mark.parametrize(
    ("version", "machine", "refused"),
    [
        ((3, 10, 9), "linux-x86_64", "Python 3.11 or later"),
        ((3, 12, 0), "macos-x86_64", "Apple silicon"),
        ((3, 11, 0), "macos-arm64", ""),
        ((3, 13, 0), "windows-amd64", ""),
    ],
)
def test_what_cannot_work_is_refused_before_a_download(
    setup: ModuleType, version: tuple[int, int, int], machine: str, refused: str
) -> None:
    said = setup.refusal(version, machine)
    assert (refused in said) if refused else said == ""


def test_torch_comes_from_the_named_index_and_all_else_by_its_hash(setup: ModuleType) -> None:
    usual = setup.installs(Path("py"), LOCK, "")
    assert [command[-2:] for command in usual if "--require-hashes" in command] == [["-r", "requirements.lock"]]
    chosen = setup.installs(Path("py"), LOCK, "https://example.invalid/cpu")
    assert [command[-3:] for command in chosen if "--index-url" in command] == [
        ["--index-url", "https://example.invalid/cpu", "torch==2.9.0"]
    ]
    assert [command[-1] for command in chosen if "--require-hashes" in command] == ["requirements-no-torch.lock"]


with_make = pytest.mark.skipif(shutil.which("make") is None, reason="compares with make, which is not here")


def of_make(makefile: Path, verb: str, folder: Path) -> list[str]:
    """What make would run for a verb, as modules of Python."""
    others = ("MAKE", "MFLAGS", "GPULAB_VENV")
    without = {name: value for name, value in os.environ.items() if not name.startswith(others)}
    command = ["make", "--dry-run", "-f", str(makefile), verb]
    done = subprocess.run(command, cwd=folder, env=without, capture_output=True, text=True, check=True)
    lines = [re.sub(r"^(OMP_NUM_THREADS=1 )?\S*(python\S* -m |bin/)", "", line) for line in done.stdout.splitlines()]
    return [line.replace("gpulab render", "gpulab.cli render") for line in lines]


@with_make
@pytest.mark.parametrize("verb", ["fix", "test"])
def test_a_verb_does_what_make_does_in_a_project(verb: str, tmp_path: Path) -> None:
    assert of_make(TEMPLATE / "Makefile", verb, tmp_path) == list(PROJECT[verb])


@with_make
@pytest.mark.parametrize("verb", ["fix", "test"])
def test_a_verb_does_what_make_does_here(verb: str, tmp_path: Path) -> None:
    made = tmp_path / ".venv" / ".installed"
    made.parent.mkdir()
    for name in ("requirements.lock", "workflows/pyproject.toml", "model-tests/pyproject.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    made.touch()
    (tmp_path / ".venv" / "bin").mkdir()
    said = of_make(ROOT / "Makefile", verb, tmp_path)
    workers = f"{(os.cpu_count() or 1) + 1}"
    assert [re.sub(r"-n \$\(.*\)", f"-n {workers}", line) for line in said] == list(PLATFORM[verb])


def test_the_projects_setup_takes_the_same_index() -> None:
    assert f"TORCH_INDEX ?= {CPU_INDEX}\n" in (TEMPLATE / "Makefile").read_text(encoding="utf-8")


def test_a_verb_knows_the_platform_from_a_project(tmp_path: Path) -> None:
    assert repository(ROOT / "docs")[1] is PLATFORM
    (tmp_path / "lab.toml").touch()
    assert repository(tmp_path) == (tmp_path, PROJECT)


def test_an_environment_that_lacks_the_tools_is_told_apart_from_a_failure(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").touch()
    lacking = "import gpulab.cli.develop as d; d.find_spec = lambda _: None; from gpulab.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", lacking, "test"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    assert "gpulab setup" in done.stderr
