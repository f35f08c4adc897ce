"""Branches, tags, deletions, force: what a push starts, through real git and the real hook.

Most commits here break the contract, so that their runs end in seconds, without a model.
"""

import json
import subprocess
from typing import Any

import pytest


@pytest.fixture
def refused(lab: Any) -> Any:
    """A project whose every run ends at once: its contract is refused."""
    (lab.root / "Dockerfile").write_text("FROM python:latest\n")
    lab.commit("break the contract")
    assert lab.gpulab("connect").returncode == 0
    return lab


def edited(lab: Any, message: str) -> str:
    (lab.root / "README.md").write_text(f"{message}\n")
    return lab.commit(message)


def statuses(lab: Any, commit: str) -> dict[str, dict[str, str]]:
    file = lab.root / ".gpulab/statuses" / f"{commit}.json"
    return json.loads(file.read_text()) if file.is_file() else {}


def runs(lab: Any) -> list[str]:
    return sorted(one.name for one in (lab.root / ".gpulab/runs").glob("*") if one.is_dir())


def said(done: subprocess.CompletedProcess[str]) -> str:
    assert "Traceback" not in done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_branch_is_checked_and_released_nowhere(lab: Any) -> None:
    lab.with_one_test()
    lab.commit("quick tests")
    lab.git("switch", "-qc", "topic/faster-rope")
    push = lab.gpulab("push")
    assert push.returncode == 0, said(push)
    assert "checked, not released" in push.stdout
    status = statuses(lab, lab.git("rev-parse", "HEAD"))
    assert list(status) == ["gpulab/check"]
    assert status["gpulab/check"]["state"] == "success"
    assert "not released" in status["gpulab/check"]["description"]
    assert lab.deployed("teaching") is None
    assert "nothing released" in lab.gpulab("status").stdout
    assert lab.gpulab("reconcile", "--dry-run").stdout == "nothing was missed\n"


def test_hostile_refs_tags_and_deletions_start_nothing_and_say_why(refused: Any) -> None:
    head = refused.git("rev-parse", "HEAD")
    refs = ["$(TOKEN)", "{{workflow.uid}}", "{{=67}}", "größe", "a" * 201]
    done = refused.run("git", "push", "lab", *(f"main:refs/heads/{ref}" for ref in refs), "main:refs/tags/v1")
    assert done.returncode == 0, said(done)
    assert done.stderr.count("no run:") == len(refs) + 1
    assert runs(refused) == []
    assert "names use letters" in statuses(refused, head)["gpulab/check"]["description"]
    gone = refused.run("git", "push", "lab", ":refs/heads/größe", ":refs/tags/v1")
    assert "deleted" in said(gone)
    assert runs(refused) == []


def test_two_refs_in_one_push_are_two_runs_and_a_replay_is_none(refused: Any) -> None:
    done = refused.run("git", "push", "lab", "main", f"main:refs/heads/{'b' * 200}")
    assert done.returncode == 0, said(done)
    assert len(runs(refused)) == 2
    head = refused.git("rev-parse", "HEAD")
    event = f"{'0' * 40} {head} refs/heads/main\n"
    hook = refused.root / ".gpulab/forge.git/hooks/post-receive"
    again = subprocess.run([hook], cwd=hook.parents[1], input=event, capture_output=True, text=True, check=False)
    assert "exists already" in said(again)
    assert len(runs(refused)) == 2
    for name in runs(refused):
        assert refused.gpulab("watch", name).returncode == 2
    assert set(statuses(refused, head)) == {"gpulab/push", "gpulab/check"}
    assert {one["state"] for one in statuses(refused, head).values()} == {"failure"}


def test_a_skipped_push_says_so_and_run_judges_it(refused: Any) -> None:
    commit = edited(refused, "Words only [skip ci]")
    push = refused.gpulab("push")
    assert push.returncode == 2
    assert f"gpulab run {commit[:12]}" in said(push)
    assert runs(refused) == []
    assert statuses(refused, commit)["gpulab/push"]["state"] == "error"
    assert refused.gpulab("reconcile").stdout == "nothing was missed\n"
    assert refused.gpulab("run").returncode == 2
    assert statuses(refused, commit)["gpulab/push"]["state"] == "failure"


def test_a_push_that_would_lose_commits_says_what_to_type(refused: Any) -> None:
    for message in ("[skip ci] ours", "[skip ci] theirs"):
        edited(refused, message)
        assert refused.run("git", "push", "lab", "main").returncode == 0
    refused.git("reset", "-q", "--hard", "HEAD~1")
    mine = edited(refused, "[skip ci] mine")
    push = refused.gpulab("push")
    assert push.returncode == 2
    assert "git pull --rebase lab main && gpulab push" in said(push)
    assert refused.git("rev-parse", "HEAD") == mine
    forced = "git push --force-with-lease lab main"
    assert forced in push.stderr
    assert refused.run(*forced.split()).returncode == 0


@pytest.mark.parametrize("branch", ["deploy/teaching", "promote/x"])
def test_a_branch_of_the_platform_is_not_pushed(refused: Any, branch: str) -> None:
    done = refused.run("git", "push", "lab", f"main:refs/heads/{branch}")
    assert done.returncode != 0
    assert "written by gpulab only" in said(done)
    refused.git("switch", "-qc", branch)
    push = refused.gpulab("push")
    assert push.returncode == 2
    assert "git switch main" in said(push)


def test_names_that_start_no_run_are_refused_before_the_push(refused: Any) -> None:
    refused.git("switch", "-qc", "$(TOKEN)")
    push = refused.gpulab("push")
    assert push.returncode == 2
    assert "git branch -m" in said(push)
    refused.git("switch", "-q", "--detach")
    detached = refused.gpulab("push")
    assert detached.returncode == 2
    assert "on no branch" in said(detached)
    assert runs(refused) == []


def test_a_lost_event_is_found_and_mended_once(refused: Any) -> None:
    head = refused.git("rev-parse", "HEAD")
    hook = refused.root / ".gpulab/forge.git/hooks/post-receive"
    hook.rename(hook.with_suffix(".away"))
    assert refused.run("git", "push", "lab", "main").returncode == 0
    hook.with_suffix(".away").rename(hook)
    assert runs(refused) == []
    assert "1 missed" in refused.gpulab("status").stdout
    dry = refused.gpulab("reconcile", "--dry-run")
    assert "start push: main is at" in dry.stdout
    assert runs(refused) == []
    refused.gpulab("reconcile")
    assert len(runs(refused)) == 1
    assert refused.gpulab("watch").returncode == 2
    assert statuses(refused, head)["gpulab/push"]["state"] == "failure"
    assert refused.gpulab("reconcile").stdout == "nothing was missed\n"
    assert len(runs(refused)) == 1
