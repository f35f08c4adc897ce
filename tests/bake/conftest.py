"""Bake the template through cookiecutter's own API, away from the developer's home, identity and git settings."""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from cookiecutter.main import cookiecutter

ROOT = Path(__file__).parents[2]
FOLDER = next(path.name for path in ROOT.iterdir() if path.name.startswith("{{"))
Bake = Callable[..., Path]


def run_git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.invalid")
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def files_of(folder: Path) -> list[str]:
    """Paths below a folder, without git's own."""
    paths = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in paths if not path.startswith(".git/"))


@contextlib.contextmanager
def away_from_home(home: Path, **variables: str) -> Iterator[None]:
    """An environment with its own home folder and no git settings, while the block runs."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "COOKIECUTTER_", "XDG_"))}
    isolated = {"HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    with mock.patch.dict(os.environ, kept | isolated | variables, clear=True):
        yield


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The template's files as a git repository of their own with one commit and no remote."""
    copy = tmp_path_factory.mktemp("template") / "gpulab"
    copy.mkdir()
    shutil.copy(ROOT / "cookiecutter.json", copy)
    for folder in ("hooks", FOLDER):
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__", ".ruff_cache"))
    with away_from_home(copy.parent):
        run_git(copy, "init", "--quiet", "-b", "main")
        run_git(copy, "add", "--all")
        run_git(copy, "commit", "--quiet", "-m", "v1")
    return copy


@pytest.fixture(scope="session")
def bake(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Bake:
    """A function (answers) -> project folder; `into`, `source`, and environment variables can be given."""

    def run(
        into: Path | None = None, source: Path | str | None = None, env: dict | None = None, **answers: Any
    ) -> Path:
        home = tmp_path_factory.mktemp("home")
        config = {"replay_dir": str(home / "replay"), "cookiecutters_dir": str(home / "cloned")}
        target = into or tmp_path_factory.mktemp("out")
        with away_from_home(home, **(env or {})):
            made = cookiecutter(
                str(source or template),
                no_input=True,
                extra_context=answers,
                output_dir=str(target),
                default_config=config,
            )
        return Path(made)

    return run


@pytest.fixture(scope="session")
def project(bake: Bake) -> Path:
    """The project that Enter, Enter, Enter makes. Read it; bake your own to change it."""
    return bake()


Baked = Callable[[str, str, str], Path]
PROFILES, MODELS = ("student", "production"), ("llama", "resnet50", "custom")
MATRIX = [(profile, model, accelerator) for profile in PROFILES for model in MODELS for accelerator in ("cpu", "h100")]
"""Every profile and starter; of the GPUs one, as they differ in one lane, one label and two numbers only."""


@pytest.fixture(scope="session")
def baked(bake: Bake) -> Baked:
    """A function (profile, model, accelerator) -> project, baked once. Read it; bake your own to change it."""
    return cache(lambda profile, model, accelerator: bake(profile=profile, model=model, accelerator=accelerator))


def run_in(folder: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a project with this interpreter's tools first on the path."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    quiet = {"PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", "RUFF_NO_CACHE": "true"}
    environment = os.environ | {"PATH": path} | quiet | variables
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
