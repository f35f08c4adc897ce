"""Events and the queue, with the real forge and the real engine; the pipeline is one step that waits for a file."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from gpulab.engines import dispatch
from gpulab.engines.again import branch_work, push_of
from gpulab.engines.attempts import runs_named
from gpulab.engines.local.client import LocalEngine
from gpulab.engines.local_engine import local_engine
from gpulab.engines.protocol import Phase
from gpulab.engines.queue import superseded
from gpulab.engines.reconciling import facts, mend
from gpulab.errors import InputError, PlatformError
from gpulab.events import TEACHING, PullRequestEvent, PushEvent, Refusal, push_run
from gpulab.forges.local import LocalForge
from gpulab.forges.local.git import Git
from gpulab.forges.protocol import Status
from gpulab.home import Home
from gpulab.pipelines.settings import Settings
from gpulab.reconcile import missed
from gpulab.steps.release_file import RELEASE, Release

ZEROS, SLUG = "0" * 40, "lab"
DIGEST = "sha256:" + "d" * 64


@dataclass
class Bench:
    """A project's forge and engine, and whoever pushes."""

    home: Home

    @property
    def forge(self) -> LocalForge:
        return LocalForge(self.home, lambda event: dispatch.deliver(self.home, SLUG, event))

    @property
    def engine(self) -> LocalEngine:
        return local_engine(self.home, SLUG)

    def commit(self, message: str, course: str = "", parent: str | None = None) -> str:
        git = self.forge.git
        lab = f'[project]\nname = "{message}"\ncourse = "{course}"\n'
        blob = git.text("hash-object", "-w", "--stdin", stdin=lab.encode())
        tree = git.text("mktree", stdin=f"100644 blob {blob}\tlab.toml\n".encode())
        return git.text("commit-tree", tree, *(["-p", parent] if parent else []), "-m", message)

    def again(self, branch: str) -> str | None:
        """What the platform does with one of its branches, once more."""
        due = branch_work(self.forge, SLUG, branch)
        return dispatch.start_again(self.home, SLUG, due) if due else None

    def event(self, branch: str, commit: str) -> PushEvent:
        """The branch is moved there, as `git push --force` does."""
        ref = f"refs/heads/{branch}"
        before = self.forge.head(branch) or ZEROS
        self.forge.git.run("update-ref", *(["-d", ref] if commit == ZEROS else [ref, commit]))
        return PushEvent(ref, before, commit, self.forge.message(commit))

    def push(self, branch: str, commit: str) -> str:
        started = dispatch.deliver(self.home, SLUG, self.event(branch, commit))
        assert isinstance(started, str), started
        return started

    def go(self) -> None:
        (self.home.root / "go").touch()

    def phase(self, run: str) -> Phase:
        return self.engine.results(run).phase

    def wait(self, run: str, *phases: Phase) -> None:
        deadline = time.monotonic() + 30
        while self.phase(run) not in phases and time.monotonic() < deadline:
            time.sleep(0.05)
        assert self.phase(run) in phases

    def end(self, *runs: str) -> None:
        self.go()
        for run in runs:
            self.wait(run, Phase.SUCCEEDED)

    def said(self, commit: str, context: str = "gpulab/push") -> Status | None:
        return self.forge.statuses(commit).get(context)

    def verdict(self, run: str, verdict: str) -> None:
        path = self.engine.artifact(f"{SLUG}/{run}/results.json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"verdict": verdict}))

    def release(self, source: str) -> None:
        new = Release(SLUG, "teaching", source, "r", DIGEST, "push-x", "cpu")
        LocalForge(self.home, lambda _: None).commit(TEACHING, {RELEASE: new.to_json()}, "r", self.forge.head(TEACHING))


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    home = Home(tmp_path / ".gpulab")
    home.root.mkdir()
    Git(tmp_path).run("init", "--quiet", "--bare", "-b", "main", str(home.repository))
    command = ["sh", "-c", "while [ ! -e '{{workflow.parameters.go}}' ]; do sleep 0.05; done"]
    leaf = {"name": "main", "container": {"image": Settings().steps_image, "command": command}}
    defaults = [{"name": name, "value": ""} for name in ("project", "revision", "ref", "environment")]
    template: dict[str, Any] = {
        "kind": "ClusterWorkflowTemplate",
        "metadata": {"name": "test"},
        "spec": {
            "entrypoint": "main",
            "arguments": {"parameters": [*defaults, {"name": "go", "value": str(home.root / "go")}]},
            "templates": [leaf],
        },
    }
    monkeypatch.setattr(dispatch, "rendered", lambda _pipeline: template)
    return Bench(home)


def test_a_delivery_that_comes_many_times_at_once_starts_one_run(bench: Bench) -> None:
    event = bench.event("main", bench.commit("one"))
    with ThreadPoolExecutor(8) as pool:
        answers = [*pool.map(lambda _: dispatch.deliver(bench.home, SLUG, event), range(8))]
    started = [one for one in answers if isinstance(one, str)]
    assert len(started) == 1
    assert [one.name for one in bench.home.runs.iterdir()] == started
    assert all("exists already" in one.reason for one in answers if isinstance(one, Refusal))
    bench.end(*started)
    again = dispatch.deliver(bench.home, SLUG, event)
    assert isinstance(again, Refusal)


def test_only_what_waits_is_superseded_and_only_on_its_branch(bench: Bench) -> None:
    one, two, three, four = (bench.commit(name) for name in ("one", "two", "three", "four"))
    running = bench.push("topic", one)
    bench.wait(running, Phase.RUNNING)
    waiting, other = bench.push("topic", two), bench.push("other", four)
    assert [bench.phase(run) for run in (waiting, other)] == [Phase.PENDING, Phase.PENDING]
    newest = bench.push("topic", three)
    assert bench.phase(waiting) is Phase.FAILED
    closed = bench.said(two, "gpulab/check")
    assert closed is not None
    assert (closed.state, closed.run) == ("error", waiting)
    assert "newer push" in closed.description
    bench.end(running, newest, other)
    assert bench.phase(waiting) is Phase.FAILED


def test_an_event_that_comes_late_ends_no_run_of_a_newer_push(bench: Bench) -> None:
    first, old, new = (bench.commit(name) for name in ("first", "old", "new"))
    running = bench.push("topic", first)
    bench.wait(running, Phase.RUNNING)
    late, gone = bench.event("topic", old), bench.event("topic", ZEROS)
    newest = bench.push("topic", new)
    for event in (late, gone):
        dispatch.deliver(bench.home, SLUG, event)
    assert bench.phase(newest) is Phase.PENDING
    bench.end(running, newest)
    assert bench.phase(newest) is Phase.SUCCEEDED


def test_a_graded_push_that_waits_is_not_superseded(bench: Bench) -> None:
    blocker = bench.push("topic", bench.commit("blocker"))
    bench.wait(blocker, Phase.RUNNING)
    first = bench.push("main", bench.commit("first", course="ml-101"))
    second = bench.push("main", bench.commit("second", course="ml-101"))
    assert [bench.phase(run) for run in (first, second)] == [Phase.PENDING, Phase.PENDING]
    bench.end(blocker, first, second)


def test_without_a_course_main_is_superseded_like_any_branch(bench: Bench) -> None:
    blocker = bench.push("topic", bench.commit("blocker"))
    bench.wait(blocker, Phase.RUNNING)
    first, second = (bench.push("main", bench.commit(name)) for name in ("first", "second"))
    assert [bench.phase(run) for run in (first, second)] == [Phase.FAILED, Phase.PENDING]
    bench.end(blocker, second)


def test_a_deleted_branch_ends_what_waits_and_not_what_runs(bench: Bench) -> None:
    one, two = bench.commit("one"), bench.commit("two")
    running = bench.push("topic", one)
    bench.wait(running, Phase.RUNNING)
    waiting = bench.push("topic", two)
    answer = dispatch.deliver(bench.home, SLUG, bench.event("topic", ZEROS))
    assert isinstance(answer, Refusal)
    closed = bench.said(two, "gpulab/check")
    assert closed is not None
    assert "deleted" in closed.description
    assert (bench.phase(waiting), bench.phase(running)) == (Phase.FAILED, Phase.RUNNING)
    bench.end(running)
    with pytest.raises(InputError, match="in no branch"):
        push_of(bench.forge, SLUG, two)


def test_a_skipped_push_says_so_and_can_be_run(bench: Bench) -> None:
    bench.go()
    commit = bench.commit("Words only [skip ci]")
    answer = dispatch.deliver(bench.home, SLUG, bench.event("main", commit))
    assert isinstance(answer, Refusal)
    said = bench.said(commit)
    assert said is not None
    assert said.state == "error"
    assert "gpulab run" in said.description
    assert missed(facts(bench.home, SLUG)) == []
    bench.end(dispatch.start_again(bench.home, SLUG, push_of(bench.forge, SLUG, commit)))
    assert runs_named(bench.home, push_run(commit, "refs/heads/main")) == [push_run(commit, "refs/heads/main")]


def test_a_judged_commit_that_main_is_set_back_to_is_released_again(bench: Bench) -> None:
    bench.go()
    old = bench.commit("old")
    first = bench.push("main", old)
    bench.end(first)
    bench.verdict(first, "PASS")
    bench.release(old)
    new = bench.commit("new", parent=old)
    second = bench.push("main", new)
    bench.end(second)
    bench.release(new)
    again = bench.push("main", old)
    assert again == f"{first}-2"
    bench.end(again)
    bench.verdict(again, "PASS")
    bench.release(old)
    replay = dispatch.deliver(bench.home, SLUG, bench.event("main", old))
    assert isinstance(replay, Refusal)
    said = bench.said(old)
    assert said is not None
    assert said.run == again


def test_a_commit_that_failed_is_not_judged_again_by_a_push_back(bench: Bench) -> None:
    bench.go()
    old = bench.commit("old")
    first = bench.push("main", old)
    bench.end(first)
    bench.verdict(first, "FAIL")
    bench.end(bench.push("main", bench.commit("new", parent=old)))
    answer = dispatch.deliver(bench.home, SLUG, bench.event("main", old))
    assert isinstance(answer, Refusal)
    assert "gpulab run" in answer.reason


def test_what_was_missed_is_found_mended_and_then_not_found_again(bench: Bench) -> None:
    bench.go()
    lost, stuck = bench.commit("lost"), bench.commit("stuck")
    bench.event("main", lost)
    bench.event("topic", stuck)
    bench.forge.set_status(stuck, Status("gpulab/check", "pending", "running", "push-gone"))
    bench.release(lost)
    forge = LocalForge(bench.home, lambda _: None)
    forge.commit("promote/x", {RELEASE: b"{}"}, "p", None)
    head = forge.open_pull_request("deploy/production", "promote/x", "title", "body").head
    mend(bench.home, SLUG, missed(facts(bench.home, SLUG)))
    teaching = forge.head(TEACHING) or ""
    runs = sorted(one.name for one in bench.home.runs.iterdir())
    expected = [f"promotion-{head[:12]}", push_run(lost, "refs/heads/main"), f"sync-teaching-{teaching[:12]}"]
    assert runs == sorted(expected)
    closed = bench.said(stuck, "gpulab/check")
    assert closed is not None
    assert closed.state == "error"
    bench.end(*runs)
    mend(bench.home, SLUG, missed(facts(bench.home, SLUG)))
    assert missed(facts(bench.home, SLUG)) == []
    assert sorted(one.name for one in bench.home.runs.iterdir()) == runs


def test_syncs_and_promotion_checks_can_be_run_again(bench: Bench) -> None:
    bench.go()
    bench.release(bench.commit("source"))
    teaching = bench.forge.head(TEACHING) or ""
    names = [bench.again(TEACHING) for _ in range(2)]
    assert names == [f"sync-teaching-{teaching[:12]}", f"sync-teaching-{teaching[:12]}-2"]
    forge = LocalForge(bench.home, lambda _: None)
    head = forge.commit("promote/x", {RELEASE: b"{}"}, "p", None)
    with pytest.raises(InputError, match="no open pull request"):
        bench.again("promote/x")
    forge.open_pull_request("deploy/production", "promote/x", "title", "body")
    names += [bench.again("promote/x") for _ in range(2)]
    assert names[2:] == [f"promotion-{head[:12]}", f"promotion-{head[:12]}-2"]
    with pytest.raises(InputError, match="no branch"):
        bench.again("deploy/production")
    assert bench.again("main") is None
    bench.end(*(name for name in names if name))


def test_a_run_that_cannot_be_started_leaves_no_status_pending(bench: Bench) -> None:
    bench.home.runs.write_text("a file is in the way")
    commit = bench.commit("one")
    with pytest.raises(PlatformError):
        dispatch.deliver(bench.home, SLUG, bench.event("main", commit))
    said = bench.said(commit)
    assert said is not None
    assert said.state == "error"


def test_a_foreign_folder_among_the_runs_is_no_attempt(bench: Bench) -> None:
    commit = bench.commit("one")
    for name in ("", ".bak", "-x", "-2"):
        (bench.home.runs / f"{push_run(commit, 'refs/heads/main')}{name}").mkdir(parents=True)
    assert [one.rpartition("-")[2] for one in runs_named(bench.home, push_run(commit, "refs/heads/main"))][1:] == ["2"]


def test_the_rule_of_superseding() -> None:
    assert superseded(["a", "b", "c"], "c", lambda run: run == "a") == ["b"]
    assert superseded(["a"], "", lambda _: False) == ["a"]
    assert superseded([], "c", lambda _: False) == []


def test_an_event_of_no_run_changes_nothing(bench: Bench) -> None:
    for event in (PullRequestEvent(1, "main", "a" * 40), PushEvent("refs/tags/v1", ZEROS, "a" * 40)):
        assert isinstance(dispatch.deliver(bench.home, SLUG, event), Refusal)
    assert not bench.home.statuses.exists()
