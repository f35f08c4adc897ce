import subprocess
from pathlib import Path

import pytest
from gpulab.errors import InputError, PlatformError
from gpulab.events import PROMOTION_CHECK, Event, PullRequestEvent, PushEvent
from gpulab.forges.local import LocalForge
from gpulab.forges.local.connect import connect
from gpulab.forges.local.git import Git
from gpulab.forges.protocol import Status
from gpulab.home import Home


@pytest.fixture
def events() -> list[Event]:
    return []


@pytest.fixture
def forge(tmp_path: Path, events: list[Event]) -> LocalForge:
    home = Home(tmp_path / ".gpulab")
    Git(tmp_path).run("init", "--quiet", "--bare", "-b", "main", str(home.repository))
    return LocalForge(home, events.append)


def test_a_commit_holds_exactly_its_files(forge: LocalForge, events: list[Event]) -> None:
    first = forge.commit("deploy/teaching", {"a": b"1", "b": b"2"}, "one", None)
    second = forge.commit("deploy/teaching", {"b": b"3"}, "two", first)
    assert forge.files(second) == ["b"]
    assert forge.read(second, "b") == b"3"
    assert forge.read(second, "a") is None
    assert forge.is_ancestor(first, second)
    assert [event.after for event in events if isinstance(event, PushEvent)] == [first, second]


def test_a_deploy_branch_that_moved_is_not_overwritten(forge: LocalForge) -> None:
    first = forge.commit("deploy/teaching", {"a": b"1"}, "one", None)
    forge.commit("deploy/teaching", {"a": b"2"}, "two", first)
    with pytest.raises(PlatformError, match="another release was faster"):
        forge.commit("deploy/teaching", {"a": b"3"}, "late", first)
    assert forge.read(forge.head("deploy/teaching") or "", "a") == b"2"


def test_the_latest_status_per_context_counts(forge: LocalForge) -> None:
    forge.set_status("a" * 40, Status("x", "pending", "…", "r1"))
    forge.set_status("a" * 40, Status("y", "error", "other", "r1"))
    forge.set_status("a" * 40, Status("x", "success", "done", "r2"))
    assert {name: one.state for name, one in forge.statuses("a" * 40).items()} == {"x": "success", "y": "error"}


def pull(forge: LocalForge) -> int:
    forge.commit("promote/1", {"a": b"1"}, "one", None)
    return forge.open_pull_request("deploy/production", "promote/1", "title", "body").number


def test_a_pull_request_merges_only_with_its_check(forge: LocalForge, events: list[Event]) -> None:
    number = pull(forge)
    assert isinstance(events[-1], PullRequestEvent)
    with pytest.raises(InputError, match="required check"):
        forge.merge(number)
    head = forge.pull_requests()[0].head
    forge.set_status(head, Status(PROMOTION_CHECK, "failure", "no", "r"))
    with pytest.raises(InputError, match="failure: no"):
        forge.merge(number)
    assert forge.head("deploy/production") is None
    forge.set_status(head, Status(PROMOTION_CHECK, "success", "yes", "r"))
    assert forge.merge(number) == head == forge.head("deploy/production")
    with pytest.raises(InputError, match="merged"):
        forge.merge(number)


def test_a_pull_request_whose_base_moved_does_not_merge(forge: LocalForge) -> None:
    number = pull(forge)
    forge.set_status(forge.pull_requests()[0].head, Status(PROMOTION_CHECK, "success", "yes", "r"))
    forge.commit("deploy/production", {"b": b"1"}, "elsewhere", None)
    with pytest.raises(InputError, match="moved on"):
        forge.merge(number)


def test_the_callers_git_variables_do_not_leak(
    forge: LocalForge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    commit = forge.commit("deploy/teaching", {"a": b"1"}, "one", None)
    assert forge.head("deploy/teaching") == commit
    assert not (tmp_path / "elsewhere").exists()


def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    git = Git(folder)
    git.run("init", "--quiet", "-b", "main")
    (folder / ".gitignore").write_text(".gpulab/\n")
    git.run("add", "-A")
    git.run("commit", "--quiet", "-m", "start")
    return folder


def test_connecting_twice_changes_nothing(tmp_path: Path) -> None:
    folder = project(tmp_path)
    home = connect(folder, "lab")
    before = {path: path.read_bytes() for path in home.repository.rglob("*") if path.is_file()}
    connect(folder, "lab")
    assert {path: path.read_bytes() for path in home.repository.rglob("*") if path.is_file()} == before
    assert Git(folder).text("remote") == "lab"


def test_a_folder_that_is_no_repository_of_its_own_is_refused(tmp_path: Path) -> None:
    inside = project(tmp_path) / "inside"
    inside.mkdir()
    with pytest.raises(InputError, match="git init"):
        connect(inside, "lab")
    assert not (inside / ".gpulab").exists()


@pytest.mark.parametrize("branch", ["main", "topic", "deployment", "deploy2/x"])
def test_the_bot_writes_no_branch_of_peoples(forge: LocalForge, branch: str) -> None:
    with pytest.raises(PlatformError, match="does not write"):
        forge.commit(branch, {"a": b"1"}, "one", None)
    assert forge.heads() == {}


def test_a_merge_that_was_killed_halfway_is_a_merge(forge: LocalForge) -> None:
    number = pull(forge)
    head = forge.pull_requests()[0].head
    forge.git.run("update-ref", "refs/heads/deploy/production", head)
    assert forge.pull_requests()[0].state == "merged"
    with pytest.raises(InputError, match="merged"):
        forge.merge(number)


def test_history_and_messages(forge: LocalForge) -> None:
    first = forge.commit("deploy/teaching", {"a": b"1"}, "one\n\nbody", None)
    second = forge.commit("deploy/teaching", {"a": b"2"}, "two", first)
    assert forge.history("deploy/teaching") == [second, first]
    assert forge.history("deploy/production") == []
    assert forge.message(first).splitlines()[0] == "one"
    assert forge.message("f" * 40) == ""


@pytest.mark.parametrize("branch", ["deploy/production", "deploy", "promote/x", "promote", "Deploy/teaching"])
def test_people_cannot_push_to_a_branch_of_the_platform(tmp_path: Path, branch: str) -> None:
    folder = project(tmp_path)
    connect(folder, "lab")
    command = ["git", "-C", str(folder), "push", "lab", f"main:refs/heads/{branch}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "written by gpulab only" in done.stderr
    assert "Traceback" not in done.stderr
