"""Names that only git takes as one line, settings of the person's git, and pushes while the hooks are refreshed."""

import os
import subprocess
import threading
from pathlib import Path

import pytest
from gpulab.checking import check_project
from gpulab.checking.tracked import tracked_findings
from gpulab.contract.finding import ContractError
from gpulab.errors import InputError
from gpulab.forges.local import LocalForge
from gpulab.forges.local.blobs import heavy_blobs
from gpulab.forges.local.connect import connect
from gpulab.forges.local.git import Git
from gpulab.forges.local.hook import updates

LINE_ENDS = ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\r"]
"""What Python's `splitlines` splits at, and git does not."""

IN_REFS = [end for end in LINE_ENDS if ord(end) >= 0x80]
"""A ref holds no control characters of ASCII."""

IDENTITY = {f"GIT_{who}_{what}": "a@b.invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with one commit, connected."""
    folder = tmp_path / "lab"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "README.md").write_text("text")
    (folder / ".gitignore").write_text(".gpulab/\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Start")
    connect(folder, "lab")
    return folder


def git(folder: Path, *arguments: str, **environment: str) -> str:
    run = os.environ | IDENTITY | {"GPULAB_HOOK_QUIET": "1"} | environment
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, env=run, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("end", IN_REFS)
def test_a_ref_is_one_line(forge: LocalForge, end: str) -> None:
    first = forge.commit("deploy/teaching", {"a": b"1"}, "one", None)
    forge.git.run("update-ref", f"refs/heads/main{end}x", first)
    assert set(forge.heads()) == {"deploy/teaching", f"main{end}x"}
    told = f"{'0' * 40} {first} refs/heads/main{end}x\n{'0' * 40} {first} refs/heads/b\n".encode()
    assert [event.ref for event in updates(told)] == [f"refs/heads/main{end}x", "refs/heads/b"]


def test_a_ref_in_another_encoding_is_a_ref() -> None:
    (event,) = updates(b"0 1 refs/heads/caf\xe9\n")
    assert event.ref.startswith("refs/heads/caf")


@pytest.mark.parametrize("end", LINE_ENDS)
def test_a_path_is_one_line(project: Path, end: str) -> None:
    (project / f"a{end}b.pt").write_bytes(b"weights")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "More")
    head = git(project, "rev-parse", "HEAD").strip()
    assert [one.path for one in heavy_blobs(project, [head], ())] == [f"a{end}b.pt"]
    assert [one.file for one in tracked_findings(project)] == [f"a{end}b.pt"]


def test_a_link_out_of_the_repository_is_the_projects_to_mend(project: Path, tmp_path: Path) -> None:
    (project / "inside").symlink_to("README.md")
    (project / "data").symlink_to("/etc/hostname")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "Links")
    (finding,) = [one for one in check_project(project) if one.file in ("data", "inside")]
    assert (finding.file, finding.level) == ("data", "error")
    assert "git rm --cached data" in finding.hint
    forge = LocalForge(connect(project, "lab"), lambda _: None)
    forge.git.run("fetch", "-q", str(project), "main:main")
    with pytest.raises(ContractError, match=r"data: found a link to the absolute path /etc/hostname"):
        forge.checkout(forge.head("main") or "", tmp_path / "tree")


def test_a_persons_own_hooks_folder_does_not_replace_the_forges(project: Path, tmp_path: Path) -> None:
    (tmp_path / "gitconfig").write_text(f"[core]\n\thooksPath = {tmp_path}\n")
    with pytest.raises(AssertionError, match="written by gpulab only"):
        git(project, "push", "lab", "main:deploy/production", GIT_CONFIG_GLOBAL=str(tmp_path / "gitconfig"))


def test_a_forge_is_found_when_git_looks_for_none(project: Path, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / ".gitconfig").write_text("[safe]\n\tbareRepository = explicit\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    forge = LocalForge(connect(project, "lab"), lambda _: None)
    assert forge.head("deploy/teaching") is None
    assert forge.commit("deploy/teaching", {"a": b"1"}, "one", None) == forge.head("deploy/teaching")


def test_what_git_says_of_a_repository_that_it_does_not_read_is_told(project: Path) -> None:
    (project / ".git" / "config").write_text("[core\n")
    with pytest.raises(InputError, match=r"git does not read .*bad config"):
        connect(project, "lab")
    (finding,) = tracked_findings(project)
    assert (finding.level, "bad config" in finding.message) == ("error", True)
    assert Git(project.parent).trouble == ""


def test_no_push_meets_a_hook_that_is_half_written(project: Path) -> None:
    stop = threading.Event()

    def refresh() -> None:
        hooks = project / ".gpulab" / "forge.git" / "hooks"
        while not stop.is_set():
            (hooks / "post-receive").write_text("#!/bin/sh\n")  # as an older gpulab left it
            connect(project, "lab")

    thread = threading.Thread(target=refresh)
    thread.start()
    try:
        for number in range(15):
            with pytest.raises(AssertionError, match="written by gpulab only"):
                git(project, "push", "lab", f"main:deploy/x{number}")
    finally:
        stop.set()
        thread.join()
    assert "deploy" not in git(project, "ls-remote", "lab")
