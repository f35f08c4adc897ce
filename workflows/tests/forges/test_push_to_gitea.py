"""`gpulab push`, `gpulab status` and reconciling, with a real Gitea; what the cluster's runs would say is said here."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from gpulab.clusters.workflows import referring
from gpulab.events import MAIN, TEACHING, push_run, sync_context, sync_run
from gpulab.forges import Forge, Status
from gpulab.reconcile import Say, Start, missed
from gpulab.steps.cluster_facts import cluster_facts
from gpulab.steps.reconcile import tell
from gpulab.steps.release_file import RELEASE, Release

if TYPE_CHECKING:
    from conftest import Gitea

VALID = Path(__file__).parents[1] / "resources" / "projects" / "valid"
SLUG = "gpu-lab-1"
TEXT = "PASS: 9 gates passed"


@dataclass(frozen=True)
class Student:
    """A working copy; git's own credential helper knows the token, gpulab is told nothing."""

    root: Path
    environment: dict[str, str]

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=self.root, env=self.environment, capture_output=True, text=True, check=False, timeout=120
        )

    def git(self, *words: str) -> str:
        done = self.run("git", "-c", "user.name=s", "-c", "user.email=s@localhost", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def gpulab(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.run(sys.executable, "-m", "gpulab.cli", *words)


@pytest.fixture
def student(gitea: "Gitea", repository: str, tmp_path: Path) -> Student:
    root = tmp_path / "work"
    shutil.copytree(VALID, root)
    text = (root / "lab.toml").read_text().replace('forge = "local"', 'forge = "gitea"')
    (root / "lab.toml").write_text(text)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "GPULAB_"))}
    student = Student(root, kept | {"HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1", "OMP_NUM_THREADS": "1"})
    student.git("init", "-q", "-b", "main")
    student.git("remote", "add", "origin", f"{gitea.url}/{repository}.git")
    helper = f"!f() {{ test $1 = get && echo username=teacher && echo password={gitea.token}; }}; f"
    student.git("config", "credential.helper", helper)
    student.git("fetch", "-q", "origin", "main")
    student.git("reset", "-q", "FETCH_HEAD")
    student.git("add", "-A")
    student.git("commit", "-qm", "one")
    return student


@pytest.fixture
def bot(gitea: "Gitea", repository: str) -> Forge:
    return gitea.forge(repository, f"{SLUG}-ci")


def until(true: Callable[[], bool]) -> None:
    ends = time.monotonic() + 60
    while not true():
        assert time.monotonic() < ends
        time.sleep(0.2)


def cluster(bot: Forge, head: str, passes: bool) -> None:
    """What the runs of a push and of its sync say."""
    until(lambda: bot.head("main") == head)
    run = push_run(head, MAIN)
    bot.set_status(head, Status("gpulab/push", "pending", "running", run))
    if passes:
        new = Release(SLUG, "teaching", head, "r", f"sha256:{'d' * 64}", run, "cpu")
        commit = bot.commit(TEACHING, {RELEASE: new.to_json()}, "release", bot.head(TEACHING))
        said = Status(sync_context("teaching"), "success", "answered", sync_run("teaching", commit))
        bot.set_status(commit, said)
    bot.set_status(head, Status("gpulab/push", *(("success", TEXT) if passes else ("failure", "FAIL: tests")), run))


@pytest.mark.parametrize("passes", [True, False])
def test_a_push_ends_with_what_the_cluster_said(student: Student, bot: Forge, passes: bool) -> None:
    head = student.git("rev-parse", "HEAD")
    with ThreadPoolExecutor() as pool:
        said = pool.submit(cluster, bot, head, passes)
        pushed = student.gpulab("push")
        said.result()
    assert pushed.returncode == (0 if passes else 1), pushed.stdout + pushed.stderr
    assert f"/commit/{head}" in pushed.stdout
    assert (TEXT in pushed.stdout) == passes
    student.git("commit", "-q", "--allow-empty", "-m", "not pushed yet")
    status = student.gpulab("status")
    assert status.returncode == 0, status.stderr
    assert f"{push_run(head, MAIN)}  {'Succeeded' if passes else 'Failed'}" in status.stdout
    assert (f"teaching    commit {head[:12]}" in status.stdout) == passes


def test_what_was_missed_is_found_and_closed(bot: Forge) -> None:
    head = bot.head("main") or ""
    run, now = push_run(head, MAIN), datetime.now(UTC)
    (start,) = missed(cluster_facts(SLUG, bot, lambda: [], now))
    assert isinstance(start, Start)
    assert start.submission.name == run
    bot.set_status(head, Status("gpulab/push", "pending", "running", run))
    ended = referring(run, "push-v0-1-0", start.submission.parameters) | {"status": {"phase": "Failed"}}
    facts = cluster_facts(SLUG, bot, lambda: [ended], now)
    (say,) = missed(facts)
    assert isinstance(say, Say)
    tell(bot, facts, say)
    assert bot.statuses(head)["gpulab/push"].state == "error"
    assert missed(cluster_facts(SLUG, bot, lambda: [ended], now)) == []


def test_without_rights_it_says_so_and_no_more(student: Student, gitea: "Gitea") -> None:
    student.git("config", "--unset", "credential.helper")
    student.environment["GPULAB_FORGE_TOKEN"] = "wrong"  # noqa: S105
    done = student.gpulab("push")
    assert done.returncode == 2
    assert "export GPULAB_FORGE_TOKEN" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert gitea.token not in done.stdout + done.stderr
