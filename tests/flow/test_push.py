"""A student's push, end to end on this machine: real git, real hook, real engine, real kustomize, real service."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.xdist_group("one push")  # they look at the same run

Pushed = tuple[Any, subprocess.CompletedProcess[str]]


def results(lab: Any) -> dict[str, Any]:
    """The record of the last push run."""
    report = Path(lab.gpulab("report").stdout.strip())
    return json.loads((report.parent / "results.json").read_text())


def test_the_generated_project_passes_at_once(pushed: Pushed) -> None:
    lab, push = pushed
    assert push.returncode == 0, push.stdout + push.stderr
    assert results(lab)["verdict"] == "PASS"
    assert "Traceback" not in push.stdout + push.stderr


def test_the_run_is_told_as_plain_lines_one_per_state_change(pushed: Pushed) -> None:
    _, push = pushed
    for node in ("image", "tests", "verify on cpu", "release", "inspect", "apply"):
        for phase in ("Running", "Succeeded"):
            told = rf"^\d\d:\d\d:\d\d  {node} +{phase}$"
            assert len(re.findall(told, push.stdout, re.MULTILINE)) == 1, (node, phase)
    assert "\033" not in push.stdout


def test_teaching_runs_the_digest_that_was_proven(pushed: Pushed) -> None:
    lab, _ = pushed
    head = lab.deployed("teaching")
    files = lab.run("git", "--git-dir", ".gpulab/forge.git", "ls-tree", "-r", "--name-only", head).stdout.split()
    assert files == ["manifests.yaml", "release.json"]
    manifests = lab.run("git", "--git-dir", ".gpulab/forge.git", "show", f"{head}:manifests.yaml").stdout
    images = [
        container["image"]
        for document in yaml.safe_load_all(manifests)
        if document["kind"] == "Deployment"
        for container in document["spec"]["template"]["spec"]["containers"]
    ]
    assert images == [results(lab)["image"]["reference"]]


def test_the_release_answered_its_golden_request(pushed: Pushed) -> None:
    lab, push = pushed
    assert "golden request answered" in push.stdout
    assert "success: golden request answered" in lab.gpulab("status").stdout


def test_the_report_is_one_file_that_needs_nothing_else(pushed: Pushed) -> None:
    lab, push = pushed
    path = Path(lab.gpulab("report").stdout.strip())
    assert str(path) in push.stdout
    page = path.read_text()
    assert "<script" not in page
    assert results(lab)["image"]["digest"] in page
    assert lab.git("rev-parse", "HEAD") in page


def test_the_same_commit_builds_the_same_digest_again(pushed: Pushed) -> None:
    lab, _ = pushed
    before = results(lab)["image"]["digest"]
    again = lab.gpulab("run")
    assert again.returncode == 0, again.stdout + again.stderr
    assert results(lab)["image"]["digest"] == before


def test_pushing_nothing_new_shows_the_verdict_that_is_there(pushed: Pushed) -> None:
    lab, _ = pushed
    again = lab.gpulab("push")
    assert again.returncode == 0
    assert "PASS" in again.stdout


def test_production_gets_the_same_digest_by_pull_request(pushed: Pushed) -> None:
    lab, _ = pushed
    opened = lab.gpulab("promote")
    assert opened.returncode == 0, opened.stdout + opened.stderr
    assert "| precision/float16 | cpu | PASS |" in opened.stdout
    request = json.loads((lab.root / ".gpulab/pulls/0001.json").read_text())
    assert "+        image: gpulab.local/gpu-lab-1@sha256:" in request["body"]
    assert lab.deployed("production") is None
    merged = lab.gpulab("promote", "--merge")
    assert merged.returncode == 0, merged.stdout + merged.stderr
    status = lab.gpulab("status").stdout
    digest = results(lab)["image"]["digest"]
    assert [line.split()[0] for line in status.splitlines() if digest in line] == ["teaching", "production"]
    again = lab.gpulab("promote")
    assert again.returncode == 2
    assert "already runs" in again.stderr


def test_a_corrupt_run_is_named(pushed: Pushed) -> None:
    lab, _ = pushed
    folder = next(one for one in (lab.root / ".gpulab" / "runs").iterdir() if one.name.startswith("push-"))
    before = (folder / "run.json").read_bytes()
    try:
        (folder / "run.json").write_text("{")
        done = lab.gpulab("watch", folder.name)
        assert done.returncode in (2, 3)
        assert "run.json" in done.stderr
        assert "Traceback" not in done.stderr
    finally:
        (folder / "run.json").write_bytes(before)
