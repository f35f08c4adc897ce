"""Git as a subprocess, on one repository, deaf to the caller's `GIT_*` variables."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpulab.errors import PlatformError

BOT = {
    "GIT_AUTHOR_NAME": "gpulab",
    "GIT_AUTHOR_EMAIL": "gpulab@localhost",
    "GIT_COMMITTER_NAME": "gpulab",
    "GIT_COMMITTER_EMAIL": "gpulab@localhost",
}


def clean_environment() -> dict[str, str]:
    """This process's environment without `GIT_*`: a hook's `GIT_DIR` must not steer another repository's git."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}


def bare(repository: Path) -> "Git":
    """A bare repository, named outright: with `safe.bareRepository=explicit` git finds no other."""
    return Git(repository, {"GIT_DIR": str(repository.resolve())})


@dataclass(frozen=True)
class Git:
    """A repository; bare, or a working tree's folder.

    Attributes:
        environment: variables for git alone, such as credentials (`GIT_CONFIG_*`); never shown.
    """

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    def run(self, *arguments: str, stdin: bytes = b"", check: bool = True) -> subprocess.CompletedProcess[bytes]:
        """`git -C folder …`; output as bytes.

        Raises:
            PlatformError: git failed (only with `check`) or is not installed.
        """
        command = ["git", "-C", str(self.folder), *arguments]
        try:
            environment = clean_environment() | BOT | {"LC_ALL": "C"} | dict(self.environment)
            done = subprocess.run(command, input=stdin, capture_output=True, env=environment, check=False)
        except FileNotFoundError:
            raise PlatformError("git is not installed, or not on PATH. Install it, then try again.") from None
        if check and done.returncode != 0:
            detail = done.stderr.decode(errors="replace").strip().splitlines()
            raise PlatformError(f"git {arguments[0]} failed: {detail[-1] if detail else done.returncode}")
        return done

    @property
    def trouble(self) -> str:
        """Why git does not read this folder as a repository; empty when it does, or when there is none."""
        done = self.run("rev-parse", "--git-dir", check=False)
        said = done.stderr.decode(errors="replace").strip()
        return said if done.returncode and "not a git repository" not in said else ""

    def text(self, *arguments: str, stdin: bytes = b"") -> str:
        """What git prints, stripped."""
        return self.run(*arguments, stdin=stdin).stdout.decode(errors="replace").strip()

    def commit_id(self, revision: str) -> str | None:
        """The full id of a commit-ish; None when it names none."""
        done = self.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}", check=False)
        return done.stdout.decode().strip() or None if done.returncode == 0 else None
