"""A project made once from the template; each test works in a copy of it, with its own forge and runs."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from cookiecutter.main import cookiecutter

ROOT = Path(__file__).parents[2]
SLUG = "gpu-lab-1"
MODEL = Path("src/gpu_lab_1/model.py")


@dataclass
class Lab:
    """A generated project and the commands a student types in it."""

    root: Path

    def gpulab(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run `gpulab …`; output and errors as text."""
        return self.run(sys.executable, "-m", "gpulab.cli", *arguments, **variables)

    def git(self, *arguments: str) -> str:
        """Run git; it must succeed."""
        done = self.run("git", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def run(self, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the project."""
        environment = {**os.environ, "OMP_NUM_THREADS": "1", **variables}
        return subprocess.run(command, cwd=self.root, env=environment, capture_output=True, text=True, check=False)

    def commit(self, message: str = "change") -> str:
        """Commit everything; the commit."""
        self.git("add", "-A")
        self.git("-c", "user.name=s", "-c", "user.email=s@localhost", "commit", "-qm", message)
        return self.git("rev-parse", "HEAD")

    def with_one_test(self, body: str = "pass") -> None:
        """Put one quick test in the place of the project's own, where these are not what is looked at."""
        for file in (self.root / "tests").glob("*.py"):
            file.unlink()
        (self.root / "tests" / "test_one.py").write_text(f"import time\n\n\ndef test_one():\n    {body}\n")

    def deployed(self, environment: str) -> str | None:
        """The head of a deploy branch."""
        done = self.run("git", "ls-remote", "lab", f"refs/heads/deploy/{environment}")
        return done.stdout.split("\t")[0] or None


def isolated(home: Path) -> dict[str, str]:
    """No settings of whoever runs the tests; only the caches of downloads are theirs."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    caches = {"UV_CACHE_DIR": str(cache / "uv"), "PIP_CACHE_DIR": str(cache / "pip")}
    return caches | {"HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


@pytest.fixture(scope="session", autouse=True)
def _nobodys_git_settings(tmp_path_factory: pytest.TempPathFactory) -> None:
    os.environ.update(isolated(tmp_path_factory.mktemp("home")))


@pytest.fixture(scope="session")
def baked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The template's student project, as generated."""
    folder = tmp_path_factory.mktemp("baked")
    return Path(cookiecutter(str(ROOT), no_input=True, default_config=True, output_dir=str(folder)))


@pytest.fixture
def new_lab(baked: Path, tmp_path: Path) -> Callable[[str], Lab]:
    """Copies of the generated project."""

    def make(name: str = SLUG) -> Lab:
        shutil.copytree(baked, tmp_path / name, symlinks=True)
        return Lab(tmp_path / name)

    return make


@pytest.fixture
def lab(new_lab: Callable[[str], Lab]) -> Lab:
    """One copy of the generated project."""
    return new_lab(SLUG)


@pytest.fixture(scope="module")
def pushed(baked: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Lab, subprocess.CompletedProcess[str]]:
    """A project whose first push has passed, and what the push said; shared, so tests only look at it."""
    root = tmp_path_factory.mktemp("pushed") / SLUG
    shutil.copytree(baked, root, symlinks=True)
    lab = Lab(root)
    return lab, lab.gpulab("push")
