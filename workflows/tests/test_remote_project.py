"""A project that is judged in a cluster: real git on both sides, the forge's statuses set as a run would set them."""

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import typer
from gpulab.cli import connect, project, promote, push, reconcile, report, runs, status
from gpulab.cli.remote_access import address, credential, origin
from gpulab.cli.remote_project import RemoteProject
from gpulab.cli.remote_runs import about, exit_code
from gpulab.engines.argo import ArgoEngine, ArgoSettings
from gpulab.errors import GpulabError, InputError, PlatformError
from gpulab.events import MAIN, TEACHING, promotion_run, push_run, sync_context, sync_run
from gpulab.forges.local import LocalForge
from gpulab.forges.local.git import Git
from gpulab.forges.protocol import State, Status
from gpulab.home import Home
from gpulab.steps.release_file import RELEASE, Release

VALID = Path(__file__).parent / "resources" / "projects" / "valid"
SLUG = "gpu-lab-1"
Then = Callable[[], object]


class Bench:
    """A working copy whose `origin` is a bare repository, and what the cluster does while somebody waits."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.home = folder / "work", Home(folder / "forge")
        self.forge = LocalForge(self.home, lambda event: None)
        self.then: list[Then] = []
        self.monkeypatch = monkeypatch
        self._make()
        self.use(None)

    def _make(self) -> None:
        self.home.root.mkdir(parents=True)
        self.root.mkdir()
        Git(self.home.root).run("init", "-q", "--bare", "-b", "main", str(self.home.repository))
        shutil.copytree(VALID, self.root, dirs_exist_ok=True)
        text = (VALID / "lab.toml").read_text().replace('forge = "local"', 'forge = "gitea"')
        (self.root / "lab.toml").write_text(text)
        git = Git(self.root)
        for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "one"]):
            git.run(*words)
        git.run("remote", "add", "origin", str(self.home.repository))
        self.monkeypatch.chdir(self.root)

    def use(self, engine: ArgoEngine | None) -> None:
        made = RemoteProject(
            self.root,
            SLUG,
            "origin",
            open_forge=lambda: self.forge,
            open_engine=lambda: engine,
            link=lambda run, revision: f"https://argo/{run}" if run else revision,
            sleep=self.sleep,
        )
        self.monkeypatch.setattr(project, "project_at", lambda root, slug: made)

    def sleep(self, _seconds: float) -> None:
        if not self.then:
            raise TimeoutError("it waits for nothing")
        self.then.pop(0)()

    @property
    def head(self) -> str:
        return Git(self.root).text("rev-parse", "HEAD")

    def says(self, state: State, text: str, run: str = "", context: str = "gpulab/push", commit: str = "") -> Then:
        """A run speaks, some time later."""
        head = commit or self.head
        return lambda: self.forge.set_status(head, Status(context, state, text, run or push_run(head, MAIN)))

    def release(self) -> str:
        """What `release` and `sync` do after a PASS; the commit of deploy/teaching."""
        new = Release(SLUG, "teaching", self.head, "r", f"sha256:{'d' * 64}", push_run(self.head, MAIN), "cpu")
        commit = self.forge.commit(TEACHING, {RELEASE: new.to_json()}, "release", self.forge.head(TEACHING))
        self.says("success", "answered", sync_run("teaching", commit), sync_context("teaching"), commit)()
        return commit


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(tmp_path, monkeypatch)


def code_of(verb: Callable[[], object]) -> int:
    with pytest.raises(typer.Exit) as ended:
        verb()
    return int(ended.value.exit_code)


def test_a_push_waits_for_the_verdict_and_the_sync(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    passes = bench.says("success", "PASS: 9 gates passed")
    bench.then = [lambda: None, bench.says("pending", "running"), lambda: (bench.release(), passes())]
    assert code_of(push.push) == 0
    assert bench.forge.head("main") == bench.head
    said = capsys.readouterr().out
    assert f"https://argo/{push_run(bench.head, MAIN)}" in said
    assert "running" in said
    assert "PASS: 9 gates passed" in said
    assert "teaching: success: answered" in said


VERDICTS: dict[str, tuple[State, str, int]] = {
    "a gate": ("failure", "FAIL: precision/float16 on cpu: too far off", 1),
    "input": ("failure", "FAIL: contract: lab.toml …", 2),
    "platform": ("error", "the platform could not finish", 3),
}


@pytest.mark.parametrize("case", VERDICTS)
def test_a_push_ends_with_the_verdicts_exit_code(bench: Bench, case: str, capsys: pytest.CaptureFixture[str]) -> None:
    state, text, code = VERDICTS[case]
    bench.then = [bench.says("pending", "running"), bench.says(state, text)]
    assert code_of(push.push) == code
    assert text in capsys.readouterr().out


def test_a_branch_is_checked_in_a_context_of_its_own(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    Git(bench.root).run("switch", "-qc", "topic")
    run = push_run(bench.head, "refs/heads/topic")
    bench.then = [bench.says("success", "PASS", run, "gpulab/check")]
    assert code_of(push.push) == 0
    assert "only main is" in capsys.readouterr().out


def test_the_last_run_is_the_one_of_the_commit_here(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    git = Git(bench.root)
    git.run("push", "-q", "origin", "main")
    bench.says("success", "PASS")()
    git.run("switch", "-qc", "topic")
    git.run("commit", "-q", "--allow-empty", "-m", "two")
    git.run("push", "-q", "origin", "topic")
    run = push_run(bench.head, "refs/heads/topic")
    bench.says("failure", "FAIL: tests: one of them", run, "gpulab/check")()
    assert code_of(lambda: runs.watch("")) == 1
    assert "FAIL: tests: one of them" in capsys.readouterr().out
    assert code_of(lambda: runs.watch(push_run(git.text("rev-parse", "main"), MAIN))) == 0


def test_a_run_that_never_begins_is_the_platforms_trouble(bench: Bench) -> None:
    bench.then = [lambda: None] * 1000
    with pytest.raises(PlatformError, match="gpulab project connect"):
        push.push()


def test_a_skipped_push_waits_for_nothing(bench: Bench) -> None:
    Git(bench.root).run("commit", "-q", "--allow-empty", "-m", "words [skip ci]")
    with pytest.raises(InputError, match="nothing was judged"):
        push.push()


def test_ctrl_c_stops_watching(bench: Bench) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    bench.then = [bench.says("pending", "running"), interrupt]
    assert code_of(push.push) == 130


def test_status_tells_runs_releases_and_requests(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    Git(bench.root).run("push", "-q", "origin", "main")
    bench.says("success", "PASS")()
    bench.release()
    head = bench.forge.commit("promote/x", {RELEASE: b"{}"}, "p", None)
    bench.forge.open_pull_request("deploy/production", "promote/x", "Promote it", "body")
    status.status()
    said = capsys.readouterr().out
    assert f"{push_run(bench.head, MAIN)}  Succeeded" in said
    assert f"teaching    commit {bench.head[:12]}  sha256:{'d' * 64}  success: answered" in said
    assert "production  nothing released" in said
    assert "pull request 1: Promote it" in said
    assert head


def test_what_needs_argo_says_so_in_one_line(bench: Bench) -> None:
    Git(bench.root).run("push", "-q", "origin", "main")
    bench.says("pending", "running")()
    for verb in (lambda: runs.run("main"), lambda: report.report(""), lambda: runs.cancel(""), promoted(bench)):
        with pytest.raises(InputError, match="GPULAB_ARGO_URL and GPULAB_ARGO_TOKEN"):
            verb()


def promoted(bench: Bench) -> Callable[[], object]:
    def verb() -> None:
        bench.release()
        promote.promote()

    return verb


def test_what_a_cluster_does_itself_is_said(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match="by itself"):
        reconcile.reconcile()
    connect.connect_project()
    assert "gpulab project connect" in capsys.readouterr().out


def test_a_damaged_contract_is_named(bench: Bench) -> None:
    (bench.root / "lab.toml").write_text('[delivery]\nforge = "gitea"\n')
    with pytest.raises(GpulabError, match=r"lab\.toml"):
        status.status()


RESULTS = {"schema": "gpulab/results/v1", "verdict": "PASS", "summary": "PASS: 1", "exit_code": 0, "gates": []}


class Argo:
    """Argo's server with one run that succeeded, and whatever is created."""

    def __init__(self, run: str) -> None:
        names = ("results.json", "report.html")
        stored = [{"name": name, "s3": {"key": f"{SLUG}/{run}/{name}"}} for name in names]
        node = {"id": "n", "name": f"{run}.release", "displayName": "release", "type": "Pod", "phase": "Succeeded"}
        node |= {"outputs": {"artifacts": stored}}
        self.found = {run: {"metadata": {"name": run}, "status": {"phase": "Succeeded", "nodes": {"n": node}}}}
        self.stopped: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        name = path.rpartition("/")[2]
        if path.startswith("/artifacts/"):
            return httpx.Response(200, json=RESULTS if name == "results.json" else "a report")
        if request.method == "POST":
            made = json.loads(request.content)["workflow"]
            self.found[made["metadata"]["name"]] = made | {"status": {"phase": "Succeeded"}}
            return httpx.Response(200, json=made)
        if request.method == "PUT":
            self.stopped.append(path.split("/")[-2])
            return httpx.Response(200, json={})
        if path.endswith("/workflows/lab-ci"):
            return httpx.Response(200, json={"items": [*self.found.values()]})
        return httpx.Response(200, json=self.found[name]) if name in self.found else httpx.Response(404, json={})


def with_argo(bench: Bench) -> Argo:
    argo = Argo(push_run(bench.head, MAIN))
    settings = ArgoSettings("http://argo", "lab-ci", "t", bench.root / ".gpulab" / "argo")
    bench.use(ArgoEngine(settings, httpx.MockTransport(argo), lambda _: None))
    return argo


def test_with_argo_a_push_shows_steps_and_the_report(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    with_argo(bench)
    assert code_of(push.push) == 0
    said = capsys.readouterr().out
    assert "release            Succeeded" in said
    assert f"report: {bench.root}/.gpulab/argo/{SLUG}/{push_run(bench.head, MAIN)}/report.html" in said


def test_with_argo_the_report_is_downloaded(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    with_argo(bench)
    report.report("")
    path = Path(capsys.readouterr().out.splitlines()[0])
    assert path.read_text() == '"a report"'


def test_with_argo_a_commit_is_judged_again_under_the_next_name(bench: Bench) -> None:
    argo = with_argo(bench)
    Git(bench.root).run("push", "-q", "origin", "main")
    code_of(lambda: runs.run("main"))
    assert [*argo.found] == [push_run(bench.head, MAIN), f"{push_run(bench.head, MAIN)}-2"]


def test_with_argo_a_run_is_stopped_and_its_status_closed(bench: Bench) -> None:
    argo = with_argo(bench)
    Git(bench.root).run("push", "-q", "origin", "main")
    run = push_run(bench.head, MAIN)
    argo.found[run]["status"]["phase"] = "Running"
    bench.says("pending", "running")()
    runs.cancel(run)
    assert argo.stopped == [run]
    assert bench.forge.statuses(bench.head)["gpulab/push"].state == "error"
    with pytest.raises(InputError, match="The last ones"):
        runs.cancel("push-000000000000-000000")


def test_a_promotion_is_opened_checked_and_merged(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    argo = with_argo(bench)
    Git(bench.root).run("push", "-q", "origin", "main")
    bench.release()

    def ended(run: str, context: str, commit: str) -> None:
        argo.found[run] = {"metadata": {"name": run}, "status": {"phase": "Succeeded", "nodes": {}}}
        bench.says("success", "it is so", run, context, commit)()

    def check() -> None:
        (pull,) = bench.forge.pull_requests()
        ended(promotion_run(pull.head), "gpulab/verify-promotion", pull.head)

    def sync() -> None:
        head = bench.forge.head("deploy/production") or ""
        ended(sync_run("production", head), sync_context("production"), head)

    bench.then = [check, sync]
    assert code_of(lambda: promote.promote(merge=True)) == 0
    said = capsys.readouterr().out
    assert "git fetch origin && git show origin/promote/" in said
    assert "gpulab/verify-promotion: success" in said
    assert "pull request 1 is merged" in said
    assert "production: success: it is so" in said


@pytest.mark.parametrize(
    ("url", "root", "repository"),
    [
        ("https://github.com/a/b.git", "https://github.com", "a/b"),
        ("http://me:secret@127.0.0.1:3000/a/b", "http://127.0.0.1:3000", "a/b"),
        ("https://example.org/git/a/b.git/", "https://example.org/git", "a/b"),
        ("git@github.com:a/b.git", "https://github.com", "a/b"),
        ("ssh://git@example.org:2222/a/b.git", "https://example.org", "a/b"),
    ],
)
def test_a_remote_names_its_forge(url: str, root: str, repository: str) -> None:
    found = address(url)
    assert (found.root, found.repository) == (root, repository)
    assert found.clone == f"{root}/{repository}.git"


@pytest.mark.parametrize(
    "url", ["./.gpulab/forge.git", "https://me:secret@example.org/a", "ftp://x/a/b", "C:\\x", "C:/x/y"]
)
def test_a_remote_that_is_no_forge_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(InputError, match="OWNER/NAME") as refused:
        address(url)
    assert "secret" not in str(refused.value)


def test_the_api_follows_from_the_forge() -> None:
    assert address("https://github.com/a/b").api("github") == "https://api.github.com"
    assert address("https://ghe.example.org/a/b").api("github") == "https://ghe.example.org/api/v3"
    assert address("http://x:3000/a/b").api("gitea") == "http://x:3000/api/v1"


def test_a_missing_remote_says_what_to_type(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    with pytest.raises(InputError, match="git remote add origin"):
        origin(tmp_path)


def test_gits_own_credentials_are_used_and_nobody_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    place = address("https://forge.example/a/b")
    assert credential(tmp_path, place) == ""
    helper = "!f() { test $1 = get && echo username=u && echo password=from-helper; }; f"
    subprocess.run(["git", "-C", str(tmp_path), "config", "credential.helper", helper], check=True)
    assert credential(tmp_path, place) == "from-helper"


def test_a_runs_name_says_what_it_is_about() -> None:
    commit = "a" * 40
    named: dict[str, Any] = {
        push_run(commit, MAIN): "gpulab/push",
        f"{push_run(commit, 'refs/heads/x')}-2": "gpulab/check",
        sync_run("production", commit): "gpulab/sync-production",
        f"{promotion_run(commit)}-3": "gpulab/verify-promotion",
    }
    for run, context in named.items():
        known = about(run)
        assert known is not None
        assert (known.commit, known.context) == (commit[:12], context)
    assert [about(name) for name in ("gpulab-reconcile-1", "push-xyz", "sync-mars-aaaaaaaaaaaa", "")] == [None] * 4


def test_no_word_is_the_platforms_trouble() -> None:
    said = Status("gpulab/push", "success", "", "r")
    assert [exit_code(one) for one in (None, said, replace(said, state="pending"))] == [3, 0, 3]
