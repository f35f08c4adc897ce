"""Twenty pushes in a row, five projects at once: real git, hook, events, forge and engine; toy pipelines."""

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from gpulab.engines.local_engine import local_engine
from gpulab.engines.protocol import Phase
from gpulab.events import MAIN, PUSH_CHECK, push_run, sync_run
from gpulab.forges.local.connect import connect
from gpulab.forges.local.forge import LocalForge
from gpulab.forges.local.git import Git
from gpulab.forges.local.hook import QUIET
from gpulab.home import Home
from killing import FAILPOINTS, until
from toy_pipelines import rendered

pytestmark = pytest.mark.timeout(240)
SETTINGS = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", QUIET: "1", "PYTHONPATH": str(FAILPOINTS)}


class Project:
    """A graded project that pushes without waiting for verdicts."""

    def __init__(self, root: Path, slug: str, pipelines: Path) -> None:
        self.root, self.slug = root / slug, slug
        self.variables = {**os.environ, **SETTINGS, "BADDAY_PIPELINES": str(pipelines)}
        self.root.mkdir()
        (self.root / "lab.toml").write_text(f'[project]\nslug = "{slug}"\ncourse = "gpu-26"\n')
        (self.root / ".gitignore").write_text(".gpulab/\n")
        self.git("init", "-q", "-b", "main")
        self.home = Home(connect(self.root, slug).root.resolve())
        self.forge = LocalForge(self.home, lambda _: None)
        self.engine = local_engine(self.home, slug)

    def git(self, *words: str) -> str:
        named = ("-c", "user.name=s", "-c", "user.email=s@localhost")
        done = subprocess.run(
            ["git", "-C", str(self.root), *named, *words],
            env=self.variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout.strip()

    def push(self, text: str) -> str:
        (self.root / "model.py").write_text(text)
        self.git("add", "-A")
        self.git("commit", "-qm", text)
        self.git("push", "-q", "lab", "main")
        return self.git("rev-parse", "HEAD")

    def wait(self, commits: list[str]) -> None:
        for commit in commits:
            assert [*self.engine.follow(push_run(commit, MAIN))][-1].phase is Phase.SUCCEEDED
        until(lambda: not any(self.home.events.glob("*.json")))
        head = self.forge.head("deploy/teaching")
        assert [*self.engine.follow(sync_run("teaching", head or ""))][-1].phase is Phase.SUCCEEDED

    def verdict(self, commit: str) -> dict[str, str]:
        file = self.engine.artifact(f"{self.slug}/{push_run(commit, MAIN)}/results.json")
        found: dict[str, str] = json.loads(file.read_text())
        return found


@pytest.fixture
def pipelines(tmp_path: Path) -> Path:
    return rendered(tmp_path)


def test_each_of_twenty_pushes_gets_one_run_and_one_verdict(tmp_path: Path, pipelines: Path) -> None:
    project = Project(tmp_path, "lab-1", pipelines)
    commits = [project.push(f"push {number}") for number in range(20)]
    project.wait(commits)
    runs = sorted(one.name for one in project.home.runs.glob("push-*"))
    assert runs == sorted(push_run(commit, MAIN) for commit in commits)
    for commit in commits:
        assert project.verdict(commit) == {"verdict": "PASS", "project": "lab-1", "revision": commit}
        said = project.forge.statuses(commit)[PUSH_CHECK]
        assert (said.state, said.run) == ("success", push_run(commit, MAIN))
    lines = [line for line in (project.home.root / "ledger").read_text().splitlines() if " push-" in line]
    assert sorted(lines[0::2]) == sorted(f"begin {run}" for run in runs)
    assert [line.replace("begin", "end") for line in lines[0::2]] == lines[1::2]  # one after the other
    release = json.loads(project.forge.read(project.forge.head("deploy/teaching") or "", "release.json") or b"")
    assert release["source"] == commits[-1]


def test_five_projects_at_once_know_nothing_of_each_other(tmp_path: Path, pipelines: Path) -> None:
    projects = [Project(tmp_path, f"lab-{letter}", pipelines) for letter in "abcde"]

    def work(project: Project) -> list[str]:
        commits = [project.push(f"{project.slug} {number}") for number in range(2)]
        project.wait(commits)
        return commits

    with ThreadPoolExecutor(5) as pool:
        pushed = [*pool.map(work, projects)]
    for project, commits in zip(projects, pushed, strict=True):
        assert len([*project.home.runs.glob("push-*")]) == 2
        assert [project.verdict(commit)["project"] for commit in commits] == [project.slug] * 2
        assert sorted(one.name for one in project.home.artifacts.iterdir()) == [project.slug]
        foreign = {commit for other in pushed if other is not commits for commit in other}
        assert not foreign & set(Git(project.home.repository).text("rev-list", "--all").split())
        assert not foreign & {file.stem for file in project.home.statuses.glob("*.json")}
