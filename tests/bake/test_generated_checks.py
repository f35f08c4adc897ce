"""The baked project passes its own checks, and a mistake in it does not."""

import re
import subprocess
import sys

import pytest
from gpulab.contract import dockerfile, parse_lab

from .conftest import run_in


@pytest.fixture(scope="module")
def own(bake):
    """A project that this module may leave things in."""
    return bake()


def make(folder, *targets: str) -> subprocess.CompletedProcess[str]:
    return run_in(folder, "make", *targets, f"PYTHON={sys.executable}")


def told(done: subprocess.CompletedProcess[str]) -> str:
    return f"{done.stdout}\n{done.stderr}"


def test_make_check_test_and_render_pass_as_generated(own):
    done = make(own, "check", "test", "render")
    assert done.returncode == 0, told(done)
    assert re.search(r"\d+ passed", done.stdout)
    assert "skipped" not in done.stdout
    assert "warning" not in done.stdout
    assert run_in(own, "git", "status", "--porcelain").stdout == ""


def test_style_passes_whatever_the_project_is_called(bake):
    for name in ("A", "Zebra", "A Laboratory of Forty Letters or Even More"):
        project = bake(project_name=name)
        for verb in (["check"], ["format", "--check"]):
            done = run_in(project, "ruff", *verb, ".")
            assert done.returncode == 0, told(done)


def test_make_fix_mends_style(bake):
    project = bake()
    file = project / "src" / "gpu_lab_1" / "model.py"
    kept = file.read_text(encoding="utf-8")
    file.write_text(kept.replace("import torch\n", "import torch\nimport os\n", 1), encoding="utf-8")
    assert run_in(project, "ruff", "check", ".").returncode == 1
    assert make(project, "fix").returncode == 0
    assert file.read_text(encoding="utf-8") == kept


def test_make_without_a_target_lists_every_verb(own):
    listed = re.findall(r"^ *make (\w+)", make(own).stdout, re.MULTILINE)
    assert listed == ["setup", "fix", "check", "test", "render", "verify", "push", "status", "help"]


def test_a_wrong_line_in_the_model_fails_the_projects_own_tests(bake):
    project = bake()
    file = project / "src" / "gpu_lab_1" / "model.py"
    source = file.read_text(encoding="utf-8")
    file.write_text(source.replace("tril(diagonal=start)", "tril(diagonal=start + 1)"), encoding="utf-8")
    done = run_in(project, sys.executable, "-m", "pytest", "-q", "tests/test_model.py")
    assert done.returncode == 1
    assert "test_a_token_cannot_see_what_comes_after_it" in done.stdout


def test_the_dockerfile_has_nothing_that_the_platform_refuses(project):
    assert dockerfile.lint((project / "Dockerfile").read_text(encoding="utf-8"), ["cpu"]) == []


def test_the_contract_is_whole_and_names_what_is_there(project):
    lab = parse_lab((project / "lab.toml").read_text(encoding="utf-8"))
    assert lab.project.slug == "gpu-lab-1"
    assert (project / "src" / lab.project.package / "model.py").is_file()
    assert lab.serving.module == "gpu_lab_1.serve"
    assert lab.delivery.image == "gpulab.local/gpu-lab-1"
    assert lab.precision.candidates == ("float16", "bfloat16", "float16-autocast", "bfloat16-autocast")


def test_every_key_of_the_contract_that_needs_one_has_a_comment(project):
    sizes = ("vocab_size", "hidden_size", "layers", "heads", "kv_heads", "ffn_size", "context")
    plain = ("schema", "name", "profile", "port", "low", "iterations", "forge", *sizes)
    for line in (project / "lab.toml").read_text(encoding="utf-8").splitlines():
        if re.match(r"[a-z_0-9]+ = ", line):
            assert "  # " in line or line.startswith(plain), line


def test_the_pre_commit_settings_are_valid(project):
    done = run_in(project, "pre-commit", "validate-config", ".pre-commit-config.yaml")
    assert done.returncode == 0, told(done)


def test_make_setup_asks_for_the_template_before_it_makes_anything(own):
    done = run_in(own, "make", "setup", GPULAB_TEMPLATE="")
    assert done.returncode != 0
    assert "export GPULAB_TEMPLATE=" in done.stderr
    assert not (own / ".venv").exists()
