"""Real git against a repository on disk: what is fetched, and that credentials are nowhere to be seen."""

import base64
import os
import shutil
from pathlib import Path

import pytest
from gpulab.errors import PlatformError
from gpulab.forges.clone import Clone, environment
from gpulab.forges.contents import new_commit
from gpulab.forges.local.git import Git
from gpulab.forges.start import START, store_start

TOKEN = "secret-token-of-the-bot"  # noqa: S105


class Clock:
    now = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_only_what_is_asked_for_is_fetched(bare: Git) -> None:
    first = new_commit(bare, {"large": b"x" * 1000, "b": b"1"}, "one", None)
    second = new_commit(bare, {"large": b"y" * 1000, "b": b"2"}, "two", first)
    bare.run("update-ref", "refs/heads/main", second)
    clone = Clone(bare.folder.as_uri())
    assert clone.fetched("refs/heads/main") == second
    assert clone.fetched(first) == first
    missing = clone.git.text("rev-list", "--objects", "--missing=print", second).count("?")
    clone.blobs(second)
    assert (missing, clone.git.text("rev-list", "--objects", "--missing=print", second).count("?")) == (4, 2)
    bare.folder.rename(bare.folder.with_name("gone"))
    assert clone.git.run("cat-file", "blob", f"{second}:b").stdout == b"2"
    assert clone.fetched(second) == second


def test_what_is_not_there_is_none(bare: Git) -> None:
    clone = Clone(bare.folder.as_uri())
    assert clone.heads() == {}
    assert clone.fetched("f" * 40) is None
    assert clone.fetched("refs/heads/none") is None
    assert clone.fetched(f"--upload-pack=touch {bare.folder}/pwned;") is None
    assert not (bare.folder / "pwned").exists()


def test_a_branch_is_named_as_a_whole(bare: Git) -> None:
    commit = new_commit(bare, {"a": b"1"}, "one", None)
    for ref in ("refs/heads/x", "refs/heads/y/refs/heads/x", "refs/heads/y/x"):
        bare.run("update-ref", ref, commit)
    assert Clone(bare.folder.as_uri()).heads("x") == {"x": commit}


@pytest.mark.parametrize("end", ["\u2028", "\u2029", "\u0085"])
def test_a_ref_and_a_path_are_one_line(bare: Git, end: str) -> None:
    """Neither a second branch, nor an object to ask for, can be written into a name."""
    commit = new_commit(bare, {f"a{end}?{'f' * 40}": b"1"}, "one", None)
    bare.run("update-ref", f"refs/heads/main{end}x", commit)
    clone = Clone(bare.folder.as_uri())
    assert clone.heads() == {f"main{end}x": commit}
    assert clone.fetched(commit) == commit
    clone.blobs(commit)
    assert clone.git.run("ls-tree", commit).returncode == 0
    assert clone.git.text("rev-list", "--objects", "--missing=print", commit).count("\n?") == 0


def test_the_start_is_the_same_everywhere(bare: Git) -> None:
    assert store_start(bare) == START
    assert bare.text("cat-file", "-t", START) == "commit"
    assert bare.run("fsck", "--strict").returncode == 0
    assert bare.text("ls-tree", START) == ""


def test_a_refused_push_says_why(bare: Git) -> None:
    hook = bare.folder / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'Not allowed to push to protected branch' >&2\nexit 1\n")
    hook.chmod(0o755)
    clone = Clone(bare.folder.as_uri())
    commit = new_commit(clone.git, {"a": b"1"}, "one", None)
    with pytest.raises(PlatformError, match=r"deploy/x: .*pre-receive hook declined.*Not allowed to push to protected"):
        clone.push("deploy/x", commit, None)


def test_credentials_are_in_no_argument_no_file_and_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, log = shutil.which("git"), tmp_path / "log"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec {real} "$@"\n')
    (tmp_path / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    clock = Clock()
    clone = Clone("http://127.0.0.1:9/o/n.git", TOKEN, clock.sleep, lambda: clock.now)  # nothing listens there
    with pytest.raises(PlatformError, match=r"git ls-remote of http://127.0.0.1:9/o/n.git failed") as error:
        clone.heads()
    assert clock.now > 60
    basic = base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()
    assert basic in str(clone.git.environment)
    seen = log.read_text() + str(error.value) + repr(clone) + repr(clone.git)
    seen += "".join(file.read_text(errors="replace") for file in clone.git.folder.rglob("*") if file.is_file())
    assert "ls-remote" in seen
    assert TOKEN not in seen and basic not in seen


def test_a_forge_of_ones_own_authority(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GIT_SSL_CAINFO", raising=False)
    monkeypatch.setenv("SSL_CERT_FILE", "/etc/ssl/own.pem")
    assert "/etc/ssl/own.pem" in environment("https://forge.example/o/n.git", "").values()
