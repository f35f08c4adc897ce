"""The real push pipeline, killed in image, verify and release: each state is shown, `gpulab run` ends it well."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cookiecutter.main import cookiecutter
from gpulab.engines.local_engine import local_engine
from gpulab.engines.protocol import Phase
from gpulab.events import MAIN, push_run
from gpulab.forges.local.forge import LocalForge
from gpulab.forges.local.git import Git
from gpulab.home import Home
from killing import FAILPOINTS, strays, until

ROOT = Path(__file__).parents[2]
SLUG = "gpu-lab-1"
pytestmark = [
    pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="looks into /proc"),
    pytest.mark.timeout(500),
]
POINTS = ("before move image:Succeeded", "before start model_tests.judge", "before move release:Succeeded")


class Lab:
    """A generated project, and its commands with a kill at a point."""

    def __init__(self, folder: Path) -> None:
        self.root = Path(cookiecutter(str(ROOT), no_input=True, default_config=True, output_dir=str(folder)))
        self.home = Home(self.root / ".gpulab")

    def run(self, *words: str, point: str = "") -> subprocess.CompletedProcess[str]:
        """A command; its engine dies at `point`."""
        killed = self.root / ".gpulab" / "killed"
        killed.unlink(missing_ok=True)
        variables = {"OMP_NUM_THREADS": "1", "GIT_CONFIG_GLOBAL": os.devnull, "HOME": str(self.root.parent)}
        variables |= {"PYTHONPATH": str(FAILPOINTS), "BADDAY_POINT": point, "BADDAY_KILLED": str(killed)}
        command = words if words[0] == "git" else (sys.executable, "-m", "gpulab.cli", *words)
        done = subprocess.run(
            command, cwd=self.root, env={**os.environ, **variables}, capture_output=True, text=True, check=False
        )
        assert "Traceback" not in done.stdout + done.stderr, done.stderr
        assert killed.exists() == bool(point), done.stdout + done.stderr
        return done


def test_a_push_that_is_killed_three_times_ends_well(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    for file in (lab.root / "tests").glob("*.py"):
        file.unlink()
    (lab.root / "tests" / "test_one.py").write_text("def test_one():\n    pass\n")
    for words in (("add", "-A"), ("-c", "user.name=s", "-c", "user.email=s@localhost", "commit", "-qm", "one test")):
        lab.run("git", *words)
    commit = lab.run("git", "rev-parse", "HEAD").stdout.strip()
    engine, name = local_engine(lab.home, SLUG), push_run(commit, MAIN)
    for number, point in enumerate(POINTS):
        done = lab.run("push" if number == 0 else "run", point=point)
        run = name if number == 0 else f"{name}-{number + 1}"
        assert done.returncode == (0 if "release" in point else 3), done.stdout + done.stderr
        status = engine.results(run)
        assert (status.phase, status.message) == (Phase.ERROR, "the engine was killed")
        assert all(node.phase.fulfilled for node in status.nodes.values())
        assert strays(lab.root) == []
        assert engine.artifact(f"{SLUG}/{run}/results.json").exists() == ("release" in point)
    done = lab.run("run")
    assert done.returncode == 0, done.stdout + done.stderr
    forge = LocalForge(lab.home, lambda _: None)
    head = forge.head("deploy/teaching") or ""
    release = json.loads(forge.read(head, "release.json") or b"")
    assert (release["source"], release["run"]) == (commit, f"{name}-4")
    subjects = Git(lab.home.repository).text("log", "--format=%s", "deploy/teaching").splitlines()
    assert len(subjects) == 2  # of the third run, killed after its release, and of the fourth
    lab.run("status")
    until(lambda: not [*lab.home.events.glob("*.json")])
    assert [*engine.follow(f"sync-teaching-{head[:12]}")][-1].phase is Phase.SUCCEEDED
    assert all(one.state != "pending" for one in forge.statuses(commit).values())
    shutil.rmtree(lab.root)
