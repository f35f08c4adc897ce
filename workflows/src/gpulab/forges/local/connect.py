"""Set up the local forge of a project: bare repository, hooks, the remote `lab`, the environment. Idempotent."""

import os
import shlex
import sys
from pathlib import Path

from gpulab.errors import InputError
from gpulab.files import write_text
from gpulab.forges.local.git import Git, bare
from gpulab.home import FOLDER, Home
from gpulab.system import SYSTEM

REMOTE = "lab"


def working_tree(project: Path) -> Git:
    """The project's own repository.

    Raises:
        InputError: the project is not a git repository of its own, or git does not trust it.
    """
    git = Git(project)
    top = git.run("rev-parse", "--show-toplevel", check=False)
    trouble = git.trouble if top.returncode else ""
    if trouble:
        raise InputError(f"git does not read {project}: {trouble}")
    if top.returncode != 0 or Path(top.stdout.decode().strip()).resolve() != project.resolve():
        raise InputError(
            f"{project} is not a git repository. Type: git init -b main && git add -A && git commit -m 'Start'"
        )
    return git


def connect(project: Path, slug: str) -> Home:
    """Make the forge in `.gpulab/` if it is not there, refresh its hooks, and add the remote `lab`."""
    home = Home(project / FOLDER)
    git = working_tree(project)
    if not (home.repository / "HEAD").is_file():
        home.root.mkdir(parents=True, exist_ok=True)
        Git(home.root).run("init", "--quiet", "--bare", "-b", "main", str(home.repository))
    forge = bare(home.repository)
    if forge.run("config", "--local", "core.hooksPath", check=False).stdout.decode().strip() != "hooks":
        forge.run("config", "--local", "core.hooksPath", "hooks")  # a global one would leave ours out
    for hook in ("pre-receive", "post-receive"):
        _write_hook(home, hook, slug)
    if REMOTE not in git.text("remote").splitlines():
        git.run("remote", "add", REMOTE, f"./{FOLDER}/{home.repository.name}")
    if SYSTEM.has_shell:
        _remember_environment(home)
    return home


def connected_slug(home: Home) -> str | None:
    """The project's name as its hook has it; None when nothing is connected."""
    try:
        command = (home.repository / "hooks" / "post-receive").read_text(encoding="utf-8")
        return shlex.split(command, comments=True)[-1]
    except (OSError, ValueError, IndexError):
        return None


def _remember_environment(home: Home) -> None:
    """Link to the environment that gpulab runs in: the project's Makefile finds it there, activated or not."""
    link, environment = home.environment, Path(sys.prefix).resolve()  # resolved: make runs us through this very link
    if not link.is_symlink() or link.readlink() != environment:
        link.unlink(missing_ok=True)
        link.symlink_to(environment, target_is_directory=True)


def _write_hook(home: Home, hook: str, slug: str) -> None:
    python = Path(sys.executable)
    command = shlex.join([str(python.parent.resolve() / python.name), "-m", "gpulab.forges.local.hook", hook])
    path = home.repository / "hooks" / hook
    # git runs a hook in the bare repository: a project that was moved or copied finds its own home
    text = f"#!/bin/sh\nexec {command} .. {shlex.quote(slug)}\n"
    if not path.is_file() or path.read_text(encoding="utf-8") != text or not os.access(path, os.X_OK):
        write_text(path, text, executable=True)  # at once: a push may be running it
