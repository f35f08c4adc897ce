"""Watching is not running: Ctrl-C, cancel, git push alone, two pushes at once."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def start(lab: Any, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-u", "-m", "gpulab.cli", *arguments]
    return subprocess.Popen(
        command, cwd=lab.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


def wait_for(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if word in line:
            return
    raise AssertionError(f"{word!r} was never said")


def phase(lab: Any, run: str) -> str:
    return json.loads((lab.root / ".gpulab/runs" / run / "run.json").read_text())["phase"]


def only_run(lab: Any) -> str:
    return next((lab.root / ".gpulab/runs").glob("push-*")).name


def test_ctrl_c_stops_watching_and_cancel_stops_the_run(lab: Any) -> None:
    lab.with_one_test("time.sleep(60)")
    lab.commit("slow tests")
    watcher = start(lab, "push")
    wait_for(watcher, "tests")
    os.killpg(watcher.pid, signal.SIGINT)
    assert watcher.wait(timeout=20) == 130
    run = only_run(lab)
    assert phase(lab, run) == "Running"
    stopped = lab.gpulab("cancel")
    assert stopped.returncode == 0, stopped.stderr
    deadline = time.monotonic() + 20
    while phase(lab, run) == "Running" and time.monotonic() < deadline:
        time.sleep(0.2)
    assert phase(lab, run) == "Failed"
    assert "pending" not in lab.run("cat", *map(str, (lab.root / ".gpulab/statuses").glob("*.json"))).stdout
    assert subprocess.run(["pgrep", "-f", str(lab.root)], capture_output=True, check=False).stdout == b""
    assert lab.deployed("teaching") is None


def test_git_push_alone_runs_and_tells_and_ignores_the_hooks_git_variables(lab: Any) -> None:
    assert lab.gpulab("connect").returncode == 0
    done = lab.run("git", "push", "lab", "main")
    assert done.returncode == 0, done.stderr
    assert "remote: gpulab: run push-" in done.stderr
    assert "release" in done.stderr
    watched = lab.gpulab("watch", only_run(lab))
    assert watched.returncode == 0, watched.stdout
    assert lab.git("status", "--porcelain") == ""


def test_two_pushes_at_once_are_both_judged_and_the_newest_is_released(lab: Any) -> None:
    lab.with_one_test()
    lab.commit("quick tests")
    assert lab.gpulab("connect").returncode == 0
    first = lab.git("rev-parse", "HEAD")
    one = start(lab, "push")
    wait_for(one, "image")
    (lab.root / "README.md").write_text("another commit\n")
    second = lab.commit("second")
    two = lab.gpulab("push")
    one.communicate(timeout=120)
    assert two.returncode == 0, two.stdout
    runs = sorted(path.name for path in (lab.root / ".gpulab/runs").glob("push-*"))
    assert {name.split("-")[1] for name in runs} == {first[:12], second[:12]}
    release = json.loads(
        lab.run("git", "--git-dir", ".gpulab/forge.git", "show", "deploy/teaching:release.json").stdout
    )
    assert release["source"] == second


def test_a_release_that_fails_its_smoke_request_is_put_back(lab: Any) -> None:
    lab.with_one_test()
    lab.commit("quick tests")
    assert lab.gpulab("push").returncode == 0
    before = json.loads((lab.root / ".gpulab/clusters/teaching/release.json").read_text())
    serve = lab.root / "src/gpu_lab_1/serve.py"
    serve.write_text("raise SystemExit('I do not start')\n")
    lab.commit("a service that does not start")
    push = lab.gpulab("push")
    assert "is back" in push.stdout, push.stdout
    after = json.loads((lab.root / ".gpulab/clusters/teaching/release.json").read_text())
    assert after == before
    assert "failure" in lab.run("grep", "-r", "failure", str(Path(".gpulab/statuses"))).stdout
