"""Which older commits a push is compared with, on a real forge: decided from releases, contracts and lock files."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from gpulab.contract.baselines import Releases, Version, compared, never_released, rows, wanted
from gpulab.contract.finding import ContractError
from gpulab.contract.read import parse_lab
from gpulab.forges.local import LocalForge
from gpulab.forges.local.git import Git
from gpulab.home import Home
from gpulab.steps.baselines import Baselines, find_baselines
from gpulab.steps.release_file import MANIFESTS, RELEASE, Release
from model_tests.speed.baselines import REASONS, Baseline, from_plan, unpack

PROJECT = Path(__file__).parent / "resources" / "projects" / "valid"
TEXT = (PROJECT / "lab.toml").read_text(encoding="utf-8")
A, B, C, NEW = ("a" * 40, "b" * 40, "c" * 40, "d" * 40)
LOCK = {"requirements.txt": b"torch==2.13\n"}


@pytest.mark.parametrize(
    ("releases", "anchor", "expected"),
    [
        (Releases(), "", [("teaching", "", "no-release")]),
        (Releases(A, "", [A]), "", [("teaching", A, ""), ("anchor", A, "same-as-teaching")]),
        (Releases(B, "", [B, A]), "", [("teaching", B, ""), ("anchor", A, "")]),
        (Releases(C, B, [C, B, A]), "", [("teaching", C, ""), ("production", B, ""), ("anchor", A, "")]),
        (Releases(C, C, [C, A]), "", [("teaching", C, ""), ("anchor", A, "")]),
        (Releases(C, A, [C, A]), "", [("teaching", C, ""), ("production", A, ""), ("anchor", A, "same-as-production")]),
        (Releases(C, "", [C, B, A]), B, [("teaching", C, ""), ("anchor", B, "")]),
        (Releases(NEW, A, [NEW, A]), "", [("teaching", NEW, "itself"), ("production", A, ""),
                                          ("anchor", A, "same-as-production")]),
        (Releases(NEW, NEW, [NEW]), "", [("teaching", NEW, "itself"), ("anchor", NEW, "itself")]),
    ],
)  # fmt: skip
def test_each_older_commit_is_compared_with_once_and_never_the_commit_itself(releases, anchor, expected) -> None:
    found = wanted(NEW, anchor, releases)
    assert [(one.name, one.commit, one.reason) for one in found] == expected
    timed = [one.commit for one in found if not one.reason]
    assert len(timed) == len(set(timed))
    assert NEW not in timed


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("", "", ""),
        ('author = "blue-heron"', 'author = "red-kite"', ""),
        ('family = "', 'family = "', ""),
        ("iterations = 20", "iterations = 3", ""),
        ('output = "logits"', 'output = "tensor"', "other-model"),
        ("hidden_size = ", "hidden_size = 2", "other-model"),
        ("shape = [4, 64]", "shape = [2, 64]", "other-inputs"),
        ('dtype = "float32"', 'dtype = "float16"', "other-dtype"),
    ],
)
def test_only_the_same_work_is_compared(old: str, new: str, reason: str) -> None:
    assert old in TEXT
    lab = parse_lab(TEXT)
    changed = parse_lab(TEXT.replace(old, new))
    found = compared(Baseline("teaching", A), Version(changed, LOCK), Version(lab, LOCK))
    assert found.reason == reason
    assert (found.factory, found.seed) == (lab.model.factory, lab.model.seed)


@pytest.mark.parametrize(
    ("locks", "reason"),
    [
        (LOCK, ""),
        ({"requirements.txt": b"torch==2.14\n"}, "other-lock"),
        ({}, "other-lock"),
        ({**LOCK, "requirements-gpu.txt": b"flash-attn\n"}, "other-lock"),
        ({**LOCK, "requirements-dev.txt": b"pytest\n"}, ""),
    ],
)
def test_only_with_the_same_packages_in_the_image(locks: dict[str, bytes], reason: str) -> None:
    lab = parse_lab(TEXT)
    assert compared(Baseline("anchor", A), Version(lab, LOCK), Version(lab, locks)).reason == reason


def test_what_cannot_be_read_or_carried_is_not_compared() -> None:
    lab = parse_lab(TEXT)
    assert compared(Baseline("anchor", A), Version(lab), Version(None)).reason == "unreadable"
    assert compared(Baseline("anchor", A), Version(lab), Version(lab, packed=None)).reason == "too-large"


@pytest.mark.parametrize("anchor", ["", A, B])
def test_an_anchor_that_was_released_is_fine(anchor: str) -> None:
    assert never_released(anchor, Releases(B, "", [B, A])) is None


@pytest.mark.parametrize("sources", [[], [A]])
def test_an_anchor_that_never_was_is_a_finding_with_what_to_type(sources: list[str]) -> None:
    problem = never_released(C, Releases(A, "", sources))
    assert problem is not None
    for words in ("[benchmark] anchor", C, "never released", 'anchor = ""'):
        assert words in str(problem)


@pytest.fixture
def forge(tmp_path: Path) -> LocalForge:
    home = Home(tmp_path / ".gpulab")
    Git(tmp_path).run("init", "--quiet", "--bare", "-b", "main", str(home.repository))
    return LocalForge(home, lambda event: None)


Commit = Callable[..., str]


@pytest.fixture
def commit(forge: LocalForge) -> Commit:
    """Commit the valid project with some files changed; the commit."""

    def make(**changes: bytes) -> str:
        git = forge.git
        git.run("read-tree", "--empty")
        paths = [path for path in PROJECT.rglob("*") if path.is_file()]
        files = {path.relative_to(PROJECT).as_posix(): path.read_bytes() for path in paths}
        for name, data in {**files, **{name.replace("__", "/"): data for name, data in changes.items()}}.items():
            blob = git.text("hash-object", "-w", "--stdin", stdin=data)
            git.run("update-index", "--add", "--cacheinfo", f"100644,{blob},{name}")
        return git.text("commit-tree", git.text("write-tree"), "-m", "source")

    return make


def release(forge: LocalForge, source: str, environment: str = "teaching") -> None:
    new = Release("gpu-lab-1", environment, source, "gpulab.local/gpu-lab-1", "sha256:" + "a" * 64, "push-0-1", "cpu")
    branch = f"deploy/{environment}"
    forge.commit(branch, {MANIFESTS: b"", RELEASE: new.to_json()}, "release", forge.head(branch))


def found_at(forge: LocalForge, tmp_path: Path, revision: str, **benchmark: str) -> Baselines:
    tree = tmp_path / "tree" / revision
    if not tree.exists():
        forge.checkout(revision, tree)
    lab = parse_lab((tree / "lab.toml").read_text())
    lab = lab.model_copy(update={"benchmark": lab.benchmark.model_copy(update=benchmark)})
    return find_baselines(forge, revision, lab, tree)


def test_the_first_push_has_nothing_to_be_compared_with(forge: LocalForge, commit: Commit, tmp_path: Path) -> None:
    found = found_at(forge, tmp_path, commit())
    assert [(one.name, one.reason) for one in found.found] == [("teaching", "no-release")]
    assert found.archive is None


def test_the_sources_of_all_baselines_are_packed(forge: LocalForge, commit: Commit, tmp_path: Path) -> None:
    first, second, third, new = (commit(src__gpu_lab_1__n=str(number).encode()) for number in range(4))
    for source in (first, second, third):
        release(forge, source)
    release(forge, second, "production")
    found = found_at(forge, tmp_path, new)
    expected = {"teaching": third, "production": second, "anchor": first}
    assert {one.name: one.commit for one in found.found} == expected
    assert found.archive is not None
    (tmp_path / "b.tar").write_bytes(found.archive)
    unpack(tmp_path / "b.tar", tmp_path / "out")
    out = tmp_path / "out"
    assert [(out / name / "src/gpu_lab_1/n").read_bytes() for name in expected] == [b"2", b"1", b"0"]
    model = "src/gpu_lab_1/model.py"
    assert (out / "anchor" / model).read_bytes() == (PROJECT / model).read_bytes()
    assert not (tmp_path / "out/anchor/lab.toml").exists()


def test_the_same_releases_give_the_same_bytes(forge: LocalForge, commit: Commit, tmp_path: Path) -> None:
    release(forge, commit(src__gpu_lab_1__n=b"1"))
    new = commit()
    assert found_at(forge, tmp_path, new).archive == found_at(forge, tmp_path, new).archive


def test_an_anchor_is_looked_for_in_all_releases(forge: LocalForge, commit: Commit, tmp_path: Path) -> None:
    first, second, new = (commit(src__gpu_lab_1__n=str(number).encode()) for number in range(3))
    release(forge, first)
    release(forge, second)
    found = found_at(forge, tmp_path, new, anchor=first)
    assert [(one.name, one.commit) for one in found.found] == [("teaching", second), ("anchor", first)]
    with pytest.raises(ContractError, match="never released"):
        found_at(forge, tmp_path, new, anchor=new)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"requirements.txt": b"torch==1.0\n"}, "other-lock"),
        ({"lab.toml": TEXT.replace("[4, 64]", "[2, 64]").encode()}, "other-inputs"),
        ({"lab.toml": b"schema = 2"}, "unreadable"),
        ({"lab.toml": b"\xff"}, "unreadable"),
        ({"src__gpu_lab_1__data.bin": b"0" * (9 * 2**20)}, "too-large"),
    ],
)
def test_an_older_commit_that_is_another_thing_is_left_out(
    forge: LocalForge, commit: Commit, tmp_path: Path, changes: dict[str, bytes], reason: str
) -> None:
    release(forge, commit(**changes))
    found = found_at(forge, tmp_path, commit())
    assert [(one.name, one.reason) for one in found.found] == [("teaching", reason), ("anchor", "same-as-teaching")]
    assert found.archive is None
    assert reason in REASONS


def test_a_release_file_that_is_none_counts_for_nothing(forge: LocalForge, commit: Commit, tmp_path: Path) -> None:
    forge.commit("deploy/teaching", {RELEASE: b"{"}, "by hand", None)
    assert found_at(forge, tmp_path, commit()).found == [Baseline("teaching", reason="no-release")]
    first = commit(src__gpu_lab_1__n=b"1")
    release(forge, first)
    assert [one.commit for one in found_at(forge, tmp_path, commit()).found] == [first, first]


def test_a_source_that_the_forge_no_longer_has_is_left_out(forge: LocalForge, commit: Commit, tmp_path: Path) -> None:
    release(forge, "e" * 40)
    found = found_at(forge, tmp_path, commit())
    assert [one.reason for one in found.found] == ["unreadable", "same-as-teaching"]


def test_rows_of_the_plan_are_read_back(tmp_path: Path) -> None:
    baselines = [Baseline("teaching", A, "", "m:build", 3), Baseline("anchor", B, "other-lock")]
    (tmp_path / "plan.json").write_text(json.dumps({"baselines": rows(baselines)}))
    assert from_plan(tmp_path / "plan.json") == baselines
    assert [dataclasses.asdict(one) for one in baselines] == rows(baselines)
