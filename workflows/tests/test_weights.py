"""Weights never in Git: the rule, the objects of a range of commits, and the hook with real git."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from gpulab.errors import PlatformError
from gpulab.forges.local.blobs import heavy_blobs
from gpulab.forges.local.connect import connect
from gpulab.weights import LARGEST_FILE, LARGEST_FIXTURE, heavy, refusal

IDENTITY = {f"GIT_{who}_{what}": "a@b.invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


@pytest.mark.parametrize(
    ("path", "size", "refused"),
    [
        ("src/lab/model.py", 5000, False),
        ("data/words.csv", LARGEST_FILE, False),
        ("data/words.csv", LARGEST_FILE + 1, True),
        ("model.safetensors", 1, True),
        ("a/b/MODEL.PT", 1, True),
        ("model.pt", 0, False),
        ("weights/pytorch_model.bin", 100, True),
        ("tests/expected.npy", LARGEST_FIXTURE, False),
        ("tests/data/expected.npz", 100, False),
        ("tests/expected.npy", LARGEST_FIXTURE + 1, True),
        ("src/tests/expected.npy", 100, True),
        ("tests/model.pt", 100, True),
        (".gitignore", 10, False),
        ("pt", 10, False),
    ],
)
def test_what_is_refused(path: str, size: int, refused: bool) -> None:
    assert (heavy(path, size) is not None) == refused


def test_a_refusal_names_path_size_reason_and_the_right_way() -> None:
    found = [one for one in (heavy("my model.pt", 25_000_000), heavy("b.onnx", 1)) if one]
    said = refusal(found)
    assert "my model.pt (25.0 MB: files in Git are limited to 10 MB); b.onnx (0.0 MB: .onnx files" in said
    assert "OCI artifact" in said
    assert "SHA-256" in said
    assert "git rm --cached 'my model.pt' && git commit --amend" in said
    assert "\n" not in said


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in IDENTITY.items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "lab"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / ".gitignore").write_text(".gpulab/\n")
    commit(folder, "start")
    connect(folder, "lab")
    return folder


def git(folder: Path, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", "-C", str(folder), *arguments], check=check, capture_output=True, text=True)


def commit(folder: Path, message: str) -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message)
    return git(folder, "rev-parse", "HEAD").stdout.strip()


def push(folder: Path, *what: str) -> subprocess.CompletedProcess[str]:
    """Push past the post-receive hook: a run is not what is tested here."""
    (folder / ".gpulab/forge.git/hooks/post-receive").write_text("#!/bin/sh\n")
    return git(folder, "push", "lab", *(what or ("main",)), check=False)


def test_a_push_with_weights_is_refused_and_named(project: Path) -> None:
    assert push(project).returncode == 0
    (project / "model.safetensors").write_bytes(b"x" * 2_000_000)
    commit(project, "weights")
    refused = push(project)
    assert refused.returncode != 0
    assert "gpulab: the pushed commits hold model.safetensors (2.0 MB: .safetensors files" in refused.stderr
    git(project, "rm", "-q", "--cached", "model.safetensors")
    git(project, "commit", "-q", "--amend", "--allow-empty", "-m", "no weights")
    assert push(project).returncode == 0


def test_a_file_that_was_added_and_removed_within_the_push_counts(project: Path) -> None:
    (project / "data.csv").write_bytes(os.urandom(LARGEST_FILE + 1))
    commit(project, "data")
    (project / "data.csv").unlink()
    commit(project, "no data")
    refused = push(project)
    assert refused.returncode != 0
    assert "data.csv (10.0 MB" in refused.stderr
    assert "git rebase -i" in refused.stderr


def test_a_branch_a_tag_and_a_force_push_are_looked_at_too(project: Path) -> None:
    assert push(project).returncode == 0
    git(project, "switch", "-qc", "try")
    (project / "model.pt").write_bytes(b"x")
    commit(project, "weights")
    git(project, "tag", "-a", "v1", "-m", "v1")
    assert push(project, "try").returncode != 0
    assert push(project, "v1").returncode != 0
    assert push(project, "--force", "try:main").returncode != 0


def test_a_small_fixture_a_deletion_and_known_commits_pass(project: Path) -> None:
    (project / "tests").mkdir()
    (project / "tests/expected.npy").write_bytes(b"x" * 1000)
    commit(project, "fixture")
    assert push(project, "main", "main:other").returncode == 0
    assert push(project, ":other").returncode == 0
    assert push(project).returncode == 0


def test_two_git_processes_whatever_the_number_of_files(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted, not timed: a push of a thousand files stays quick on any machine."""
    for number in range(1000):
        (project / f"file{number}.py").write_text(f"x = {number}\n")
    (project / "model.onnx").write_bytes(b"x")
    head = commit(project, "many")
    started: list[list[str]] = []
    run = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda command, **rest: (started.append(command), run(command, **rest))[1])
    found = heavy_blobs(project, [head, "0" * 40], known=())
    assert len(started) == 2
    assert [(one.path, one.size) for one in found] == [("model.onnx", 1)]


@pytest.mark.parametrize("name", ["with blank.csv", "tab\tin it.csv", "line\nbreak.csv", "ünïcode.csv", '"quoted".csv'])
def test_a_large_file_of_any_name_is_found(project: Path, name: str) -> None:
    (project / name).write_bytes(os.urandom(LARGEST_FILE + 1))
    found = heavy_blobs(project, [commit(project, "data")], known=())
    assert [one.size for one in found] == [LARGEST_FILE + 1]


def test_what_git_cannot_read_is_the_platforms_trouble(tmp_path: Path) -> None:
    with pytest.raises(PlatformError, match="rev-list failed"):
        heavy_blobs(tmp_path, ["1" * 40])


def test_the_hook_is_light() -> None:
    code = (
        "import sys, gpulab.forges.local.hook; print(sorted({'pydantic', 'yaml', 'torch', 'hera'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
