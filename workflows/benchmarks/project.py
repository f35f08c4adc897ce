"""What a student waits for: baking, checking, the start of a step, a push."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from cookiecutter.main import cookiecutter

ROOT = Path(__file__).parents[2]
CANDIDATES = ("float16", "bfloat16", "float16-autocast", "bfloat16-autocast")


def bare_python() -> None:
    """Start an interpreter and end it."""
    subprocess.run([sys.executable, "-c", "pass"], check=True)


def gpulab(*arguments: str, cwd: Path) -> None:
    """Run the command line; it must succeed."""
    command = [sys.executable, "-m", "gpulab.cli", *arguments]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"gpulab {' '.join(arguments)}: {done.stdout}{done.stderr}")


@contextmanager
def silent() -> Iterator[None]:
    """Hide what hooks print: they are processes, so it is the descriptor that has to lead elsewhere."""
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


class Made:
    """A project made from this repository's template, and what is done with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made = 0
        gpulab("new", "--defaults", "--output", str(folder), cwd=folder)
        self.project = folder / "gpu-lab-1"

    def fresh(self) -> Path:
        """A folder that nothing was made in."""
        self.made += 1
        path = self.folder / f"bake-{self.made}"
        path.mkdir()
        return path

    def bake(self) -> None:
        """Cookiecutter's own call."""
        with silent():
            cookiecutter(str(ROOT), no_input=True, default_config=True, output_dir=str(self.fresh()))

    def new(self) -> None:
        """The verb."""
        gpulab("new", "--defaults", "--output", str(self.fresh()), cwd=self.folder)

    def check(self) -> None:
        """The verb."""
        gpulab("check", cwd=self.project)

    def help(self) -> None:
        """All verbs are imported."""
        gpulab("--help", cwd=self.folder)

    def step(self) -> None:
        """Import a step as its pod does, and end."""
        workflow = (ROOT / "workflows/src/gpulab/rendered/push.yaml").read_text(encoding="utf-8")
        runner = re.search(r"- -m\n\s+- (\S*runner\S*)", workflow)
        code = f"import {runner[1] if runner else 'json'}, gpulab.steps.image"
        subprocess.run([sys.executable, "-c", code], check=True)

    def scaling(self) -> Iterator[tuple[str, float]]:
        """Verify with several candidates, to as many times verify with one: at most 1 when it grows linearly."""
        one = self.verify_seconds(1)
        for count in (2, 4):
            yield f"push: verify {count} candidates, to {count} times one", self.verify_seconds(count) / count / one

    def verify_seconds(self, count: int) -> float:
        """Seconds of the verify node of a push with so many candidates."""
        copy = self.folder / f"push-{count}" / "gpu-lab-1"
        shutil.copytree(self.project, copy, symlinks=True)
        lab = copy / "lab.toml"
        chosen = json.dumps(CANDIDATES[:count])
        text = re.sub(
            r"^candidates = \[[^\]]*\]", f"candidates = {chosen}", lab.read_text(encoding="utf-8"), flags=re.M
        )
        lab.write_text(text, encoding="utf-8", newline="\n")
        subprocess.run(["git", "commit", "--quiet", "--allow-empty", "-am", "Candidates"], cwd=copy, check=True)
        gpulab("push", cwd=copy)
        run = max((copy / ".gpulab/runs").glob("push-*/run.json"), key=os.path.getmtime)
        nodes = json.loads(run.read_text(encoding="utf-8"))["nodes"].values()
        node = next(node for node in nodes if node["templateName"] == "verify" and node["type"] == "Pod")
        begun, ended = (datetime.fromisoformat(node[key]) for key in ("startedAt", "finishedAt"))
        return (ended - begun).total_seconds()
