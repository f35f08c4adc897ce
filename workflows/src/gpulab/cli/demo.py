"""The demo: a project from nothing to production on this machine, with the very commands a student types.

`gpulab demo [FOLDER]` (or `make demo`). The project in FOLDER is made anew each time.
"""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from gpulab.cli.words import say
from gpulab.events import ENVIRONMENTS
from gpulab.home import FOLDER, Home

PROJECT = "gpu-lab-1"


def step(title: str, *arguments: str, cwd: Path) -> None:
    """Show and run one `gpulab` command; the demo ends with its exit code when it fails."""
    say(f"\n── {title}\n$ gpulab {' '.join(arguments)}")
    command = [sys.executable, "-m", "gpulab.cli", *arguments]
    code = subprocess.run(command, cwd=cwd, check=False).returncode
    if code != 0:
        say(f"\nthe demo stopped: gpulab {arguments[0]} ended with exit code {code}")
        raise SystemExit(code)


def digests(project: Path) -> dict[str, str]:
    """The digest that each environment runs."""
    home = Home(project / FOLDER)
    files = {name: home.cluster(name) / "release.json" for name in ENVIRONMENTS}
    return {name: json.loads(file.read_bytes())["digest"] for name, file in files.items()}


def demo(
    folder: Annotated[Path, typer.Argument(help="Where the demo's project is made anew.")] = Path(".demo"),
) -> None:
    """A student's project from nothing to production, on this machine."""
    raise typer.Exit(main(folder.resolve()))


def main(folder: Path) -> int:
    """Bake, check, push, promote, and compare what the two environments run."""
    begin = time.monotonic()
    project = folder / PROJECT
    if project.exists():
        shutil.rmtree(project, onerror=_writable)
    folder.mkdir(parents=True, exist_ok=True)
    step("make a student's project from the template", "new", "--defaults", "--output", str(folder), cwd=folder)
    step("what would be refused?", "check", cwd=project)
    step("git push: build, test, judge, release to teaching", "push", cwd=project)
    step("a pull request brings the same image to production", "promote", "--merge", cwd=project)
    step("what runs where?", "status", cwd=project)
    running = digests(project)
    same = len(set(running.values())) == 1
    say(f"\nteaching and production run {'the same digest' if same else f'different digests: {running}'}")
    say(f"done in {time.monotonic() - begin:.0f} s. Look around: cd {project} && git log --oneline --all")
    return 0 if same else 1


def _writable(remove: Callable[[str], object], path: str, _error: object) -> None:
    """Git's objects are read-only, and Windows does not delete what is."""
    Path(path).chmod(0o700)
    remove(path)
