"""Set up the local forge of a project: the bare repository, its hooks and the remote `lab`. Idempotent."""

import shlex
import sys
from pathlib import Path

from gpulab.errors import InputError
from gpulab.forges.local.git import Git
from gpulab.home import FOLDER, Home

REMOTE = "lab"


def working_tree(project: Path) -> Git:
    """The project's own repository.

    Raises:
        InputError: the project is not a git repository of its own.
    """
    git = Git(project)
    top = git.run("rev-parse", "--show-toplevel", check=False)
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
    for hook in ("pre-receive", "post-receive"):
        _write_hook(home, hook, slug)
    if REMOTE not in git.text("remote").splitlines():
        git.run("remote", "add", REMOTE, f"./{FOLDER}/{home.repository.name}")
    return home


def _write_hook(home: Home, hook: str, slug: str) -> None:
    command = shlex.join([sys.executable, "-m", "gpulab.forges.local.hook", hook])
    path = home.repository / "hooks" / hook
    path.parent.mkdir(parents=True, exist_ok=True)
    # git runs a hook in the bare repository: a project that was moved or copied finds its own home
    path.write_text(f'#!/bin/sh\nexec {command} "$(cd .. && pwd)" {shlex.quote(slug)}\n', encoding="utf-8")
    path.chmod(0o755)
