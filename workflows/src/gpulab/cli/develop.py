"""`gpulab setup`, `fix`, `test`: what `make` does, where there is no make; in a project or in the platform."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from gpulab.cli.project import make_ready
from gpulab.cli.words import say
from gpulab.errors import InputError, PlatformError
from gpulab.home import find_project

TEMPLATE = "GPULAB_TEMPLATE"
CPU_INDEX = "https://download.pytorch.org/whl/cpu"

PROJECT = {
    "fix": ("ruff check --quiet --fix .", "ruff format --quiet ."),
    "test": ("pytest",),
}
PLATFORM = {
    "fix": ("ruff format .", "ruff check --fix ."),
    "test": (
        "ruff format --check .",
        "ruff check .",
        "mypy",
        "mypy --platform darwin",
        "mypy --platform win32",
        "gpulab.cli render --check",
        f"pytest -n {(os.cpu_count() or 1) + 1} --dist loadgroup",
    ),
}
"""What the Makefile of each kind of repository runs, as modules of Python; a test compares them."""


def fix() -> None:
    """Mend what a tool can mend: style, imports."""
    _run("fix")


def test() -> None:
    """Run this project's own tests (in the platform's repository: checks, then all tests)."""
    _run("test")


def setup(
    torch_index: Annotated[
        str, typer.Option("--torch-index", help="Where PyTorch comes from; '' is PyPI, on Linux with CUDA, some 3 GB.")
    ] = CPU_INDEX,
) -> None:
    """Install what this project needs into the environment that gpulab runs in: one serves all your projects."""
    project = find_project(Path.cwd())
    refuse_unknown_template(project)
    files = [word for name in ("requirements-dev.txt", "requirements-platform.txt") for word in ("-r", name)]
    index = ["--extra-index-url", torch_index] if torch_index else []
    amount = "about 300 MB with PyTorch for CPUs" if torch_index else "up to 3.3 GB with PyTorch for CUDA"
    say(f"setting up {sys.prefix}: {amount}; what is there already is not downloaded again")
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", *index, *files]
    if subprocess.run(command, cwd=project, check=False).returncode:
        raise PlatformError("the environment is not complete; pip says why above. Type `gpulab setup` again.")
    make_ready(project)
    say("Next: gpulab test, gpulab check, gpulab push")


def refuse_unknown_template(project: Path) -> None:
    """A project made from a template without an address of its own takes gpulab from where a person says.

    Raises:
        InputError: nobody said.
    """
    platform = project / "requirements-platform.txt"
    if platform.is_file() and "${GPULAB_TEMPLATE}" in platform.read_text("utf-8") and not os.environ.get(TEMPLATE):
        typed = (
            f"$env:{TEMPLATE}='file:///C:/gpulab'" if os.name == "nt" else f"export {TEMPLATE}=file:///home/me/gpulab"
        )
        raise InputError(f"{platform.name}: say where the template lies. Type: {typed}, then: gpulab setup")


def repository(start: Path) -> tuple[Path, dict[str, tuple[str, ...]]]:
    """The project or the platform's repository at or above a folder, and what the verbs run there."""
    for folder in (start, *start.parents):
        if (folder / "cookiecutter.json").is_file() and (folder / "workflows" / "pyproject.toml").is_file():
            return folder, PLATFORM
    return find_project(start), PROJECT


def _run(verb: str) -> None:
    """Run the tools of a verb until one fails.

    Raises:
        InputError: a tool is not installed here.
    """
    folder, verbs = repository(Path.cwd())
    for words in map(str.split, verbs[verb]):
        if find_spec(words[0]) is None:
            raise InputError(f"{words[0]} is not installed in {sys.prefix}. Type: gpulab setup")
        environment = os.environ | ({"OMP_NUM_THREADS": "1"} if verbs is PLATFORM else {})
        if subprocess.run([sys.executable, "-m", *words], cwd=folder, env=environment, check=False).returncode:
            raise typer.Exit(1)
