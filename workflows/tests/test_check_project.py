"""`check_project`: everything that can be refused without running a project's code, in about a second."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from gpulab.checking import check_project
from gpulab.contract.finding import Finding, errors_of

PROJECT = Path(__file__).parent / "resources/projects/valid"


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """A repository without a commit: nothing is tracked until a test adds it."""
    folder = Path(shutil.copytree(PROJECT, tmp_path / "lab"))
    git(folder, "init", "-q")
    return folder


def edit(lab: Path, path: str, before: str, after: str) -> None:
    text = (lab / path).read_text(encoding="utf-8")
    assert before in text
    (lab / path).write_text(text.replace(before, after), encoding="utf-8")


def git(lab: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(lab), *arguments], check=True, capture_output=True)


def told(lab: Path, *levels: str) -> list[str]:
    return [str(finding) for finding in check_project(lab) if not levels or finding.level in levels]


def test_a_valid_project_has_remarks_only(lab: Path) -> None:
    assert told(lab, "error", "warning") == []
    cpu, lane = told(lab, "info")
    assert cpu.startswith("lab.toml: [hardware] cpu: CPU: fits, needs ")
    assert lane == "lab.toml: [hardware]: image lane cpu (CPU only)."


def test_checking_changes_nothing(lab: Path) -> None:
    before = {path: path.read_bytes() for path in lab.rglob("*") if path.is_file()}
    check_project(lab)
    assert {path: path.read_bytes() for path in lab.rglob("*") if path.is_file()} == before


def test_the_same_project_is_told_in_the_same_order(lab: Path) -> None:
    edit(lab, "Dockerfile", "USER 10001:10001", "USER root")
    assert told(lab) == told(lab)


def test_checking_takes_about_a_second_and_imports_no_torch(lab: Path) -> None:
    code = f"""
import json, sys, time
from pathlib import Path
from gpulab.checking import check_project
findings = check_project(Path({str(lab)!r}))
heavy = sorted({{"torch", "numpy", "matplotlib", "hera"}} & set(sys.modules))
print(json.dumps([len(findings), heavy, time.process_time()]))
"""
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    findings, heavy, seconds = json.loads(done.stdout)
    assert findings == 2
    assert heavy == []
    assert seconds < 1.5
    assert time.monotonic() - started < 15, "even on a busy machine"


def test_every_part_of_a_project_is_looked_at_in_one_go(lab: Path) -> None:
    edit(lab, "Dockerfile", "USER 10001:10001", "USER root")
    edit(lab, "src/gpu_lab_1/model.py", "context=128", "length=128")
    edit(lab, "gitops/base/service.yaml", "targetPort: http", "targetPort: web")
    edit(lab, "gitops/overlays/production/kustomization.yaml", "name: gpu-lab-.*", "name: other")
    assert [(finding.file, finding.where) for finding in errors_of(check_project(lab))] == [
        ("Dockerfile", "line 11 [user-root]"),
        ("gitops/overlays/production", "Service/gpu-lab-1"),
        ("gitops/overlays/production/kustomization.yaml", "patches"),
        ("gitops/overlays/teaching", "Service/gpu-lab-1"),
        ("lab.toml", "[model.config] context"),
    ]


def test_a_broken_contract_does_not_hide_the_dockerfile(lab: Path) -> None:
    edit(lab, "lab.toml", "iterations = 20", "iterations = 0")
    edit(lab, "Dockerfile", "USER 10001:10001", "USER root")
    assert [finding.file for finding in errors_of(check_project(lab))] == ["Dockerfile", "lab.toml"]


@pytest.mark.parametrize(
    "gone", ["lab.toml", "Dockerfile", "src", "tests", "gitops", "gitops/base/service.yaml", "requirements.txt"]
)
def test_a_missing_part_is_a_finding_and_not_a_traceback(lab: Path, gone: str) -> None:
    path = lab / gone
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    errors = errors_of(check_project(lab))
    assert errors
    assert all(error.hint for error in errors)


def test_an_empty_folder_is_told_the_way_out(tmp_path: Path) -> None:
    assert [finding.file for finding in check_project(tmp_path)] == ["Dockerfile", "lab.toml", "tests", ".git"]


def test_weights_that_do_not_fit_are_refused_in_seconds(lab: Path) -> None:
    edit(lab, "lab.toml", "hidden_size = 128", "hidden_size = 16384")
    edit(lab, "lab.toml", "layers = 4", "layers = 40")
    (line,) = told(lab, "error")
    assert line.startswith("lab.toml: [hardware] accelerators[0]: the float32 weights alone need ")


def test_a_batch_that_does_not_fit_is_a_warning_with_the_one_that_does(lab: Path) -> None:
    edit(lab, "lab.toml", "memory_gib = 8.0", "memory_gib = 0.7")
    edit(lab, "lab.toml", "shape = [4, 64]", "shape = [40000, 64]")
    (line,) = told(lab, "warning")
    largest = line.rsplit("shape = [", 1)[1].split(",")[0]
    assert "does not fit with this batch" in line
    edit(lab, "lab.toml", "shape = [40000, 64]", f"shape = [{largest}, 64]")
    assert told(lab, "warning") == []


def test_a_card_is_told_with_its_dtypes_and_lane(lab: Path) -> None:
    edit(lab, "lab.toml", 'accelerators = ["cpu"]', 'accelerators = ["t4", "v100-16"]')
    edit(lab, "Dockerfile", "runtime-cpu", "runtime-legacy")
    t4, v100, lane = told(lab, "info")
    assert "NVIDIA T4: fits" in t4
    assert "float16 native, bfloat16 emulated, slow" in t4
    assert "NVIDIA V100 16 GB: fits" in v100
    assert lane == "lab.toml: [hardware]: image lane legacy (CUDA 12.6: Volta and older drivers, driver R525 or newer)."


def test_an_unknown_family_is_told_as_unknown(lab: Path) -> None:
    edit(lab, "lab.toml", 'family = "llama"', 'family = "custom"')
    assert "memory unknown for this family" in told(lab, "info")[0]


def test_manifests_that_start_something_else_are_a_warning(lab: Path) -> None:
    edit(lab, "lab.toml", "port = 8000", "port = 9000")
    edit(lab, "gitops/base/deployment.yaml", "gpu_lab_1.serve]", "gpu_lab_1.other]")
    assert [line.split("found ")[1].split(",")[0] for line in told(lab, "warning")[:2]] == [
        "containerPort 8000",
        'the command ["python3"',
    ]


def test_an_image_that_the_manifests_do_not_use_is_an_error(lab: Path) -> None:
    edit(lab, "lab.toml", '"gpulab.local/gpu-lab-1"', '"gpulab.local/other"')
    assert told(lab, "error")[0].startswith("gitops/overlays/production: nothing in it uses the image")


def test_manifests_of_another_namespace_than_the_overlays_are_refused(lab: Path) -> None:
    edit(lab, "gitops/base/service.yaml", "name: gpu-lab-1", "name: gpu-lab-1\n  namespace: other")
    assert told(lab, "error") == [], "the overlay sets the namespace of all"
    edit(lab, "gitops/overlays/teaching/kustomization.yaml", "namespace: gpu-lab-1-teaching\n", "")
    assert 'found namespace "other"' in told(lab, "error")[0] or "found namespace null" in told(lab, "error")[0]


def test_what_git_should_not_carry_is_refused(lab: Path) -> None:
    (lab / "model.safetensors").write_bytes(b"x" * 2_000_000)
    (lab / "ignored.pt").write_bytes(b"x")
    (lab / "gitops/base/service.yaml.rej").write_text("")
    git(lab, "add", "model.safetensors", "gitops", "lab.toml")
    rejected, weights = told(lab, "error")
    assert rejected.startswith("gitops/base/service.yaml.rej: a part of a template update that did not fit")
    assert weights.startswith("model.safetensors: 2.0 MB: .safetensors files hold weights or data, which do not belong")
    assert "OCI artifact" in weights
    assert "git rm --cached model.safetensors && git commit --amend" in weights


def test_weights_of_a_commits_files_are_refused_without_git(lab: Path) -> None:
    (lab / "model.pt").write_bytes(b"x")
    shutil.rmtree(lab / ".git")
    found = check_project(lab, ["lab.toml", "model.pt", "gone.pt"])
    assert [(one.level, one.file) for one in found if one.level != "info"] == [("error", "model.pt")]


def test_what_is_staged_counts_and_not_what_lies_in_the_folder(lab: Path) -> None:
    (lab / "data.csv").write_bytes(b"x" * 10_000_001)
    git(lab, "add", "data.csv")
    (lab / "data.csv").write_bytes(b"small")
    assert [line.partition(":")[0] for line in told(lab, "error")] == ["data.csv"]
    git(lab, "add", "data.csv")
    assert told(lab, "error") == []


def test_weights_that_a_later_commit_removed_are_still_refused_before_the_push(lab: Path) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.invalid")
    (lab / "model.pt").write_bytes(b"x")
    git(lab, "add", "-A")
    git(lab, *identity, "commit", "-qm", "one")
    git(lab, "rm", "-q", "model.pt")
    git(lab, *identity, "commit", "-qm", "two")
    (line,) = told(lab, "error")
    assert line.startswith("model.pt: 0.0 MB: .pt files hold weights")
    assert "a commit that is not pushed yet" in line
    git(lab, "update-ref", "refs/remotes/lab/main", "HEAD")
    assert told(lab, "error") == []


def test_a_large_file_that_a_later_commit_made_small_is_still_refused_before_the_push(lab: Path) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.invalid")
    for content in (b"x" * 10_000_001, b"small"):
        (lab / "data.csv").write_bytes(content)
        git(lab, "add", "-A")
        git(lab, *identity, "commit", "-qm", "data")
    (line,) = told(lab, "error")
    assert line.startswith("data.csv: ")
    assert "a commit that is not pushed yet" in line


def test_a_hooks_environment_does_not_point_git_elsewhere(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (lab / "model.pt").write_bytes(b"x")
    git(lab, "add", "model.pt")
    monkeypatch.setenv("GIT_DIR", str(lab / "nowhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(lab / "nowhere"))
    assert [finding.file for finding in errors_of(check_project(lab))] == ["model.pt"]


def test_file_names_of_any_kind_are_told_as_lines(lab: Path) -> None:
    name = 'a\n"b".pt'
    (lab / name).write_bytes(b"x")
    git(lab, "add", "-A")
    errors = told(lab, "error")
    assert len(errors) == 1
    assert "\n" not in errors[0]


def test_a_folder_that_is_no_repository_is_told_what_to_type(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(lab / ".git")
    (line,) = told(lab, "error", "warning")
    assert line.startswith(".git: the project is no git repository")
    assert "git init -b main" in line
    monkeypatch.setenv("PATH", "")
    assert len(told(lab, "error", "warning")) == 1, "without git the rest is checked"


def test_packages_that_contradict_the_lane_are_refused(lab: Path) -> None:
    (lab / "requirements.txt").write_text("torch==2.3.0\nnumpy==2.4.0\n")
    assert told(lab, "error")[0].startswith("requirements.txt: line 1: found torch==2.3.0, the lane cpu (CPU only) has")
    assert told(lab, "warning")[0].startswith("requirements.txt: line 2: found numpy==2.4.0")


def test_several_gpus_are_told_one_and_together(lab: Path) -> None:
    edit(lab, "lab.toml", 'accelerators = ["cpu"]', 'accelerators = ["t4"]\ngpus = 4')
    edit(lab, "Dockerfile", "runtime-cpu", "runtime-current")
    assert "on one of 4 GPUs (60.0 GiB together)" in told(lab, "info")[0]


def test_a_finding_is_one_line_whatever_is_in_it() -> None:
    finding = Finding("error", "a", "b\nc", "d\n\te", "f")
    assert str(finding) == "a: b c: d e. f"


def test_the_project_that_the_template_makes_has_no_finding(tmp_path: Path) -> None:
    """The template and the check are written by different hands."""
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "cookiecutter", "--no-input", "--default-config", "-o", str(tmp_path), str(root)]
    subprocess.run(command, check=True, capture_output=True, env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)})
    assert told(tmp_path / "gpu-lab-1", "error", "warning") == []
