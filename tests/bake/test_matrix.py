"""Every profile with every starter on a CPU and a GPU: the checks that it was generated with pass."""

import ast
import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from gpulab.contract import parse_lab
from gpulab.contract.lab import Benchmark, Hardware, Int8
from gpulab.contract.lanes import common_lane
from gpulab.weights import RIGHT_WAY, WEIGHTS
from model_tests.hardware import catalogue
from model_tests.speed.decision import MAX_SLOWDOWN

from .conftest import FOLDER, MATRIX, MODELS, ROOT, files_of, run_in

ASKED = json.loads((ROOT / "cookiecutter.json").read_text(encoding="utf-8"))


def told(done) -> str:
    return f"{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize(("profile", "model", "accelerator"), MATRIX)
def test_make_check_and_render_pass(baked, tmp_path, profile, model, accelerator):
    """Style, contract, Dockerfile, memory and both overlays; a GPU that is not here is said and is no error."""
    project = Path(shutil.copytree(baked(profile, model, accelerator), tmp_path / "gpu-lab-1"))
    done = run_in(project, "make", "check", "render", f"PYTHON={sys.executable}", CUDA_VISIBLE_DEVICES="")
    assert done.returncode == 0, told(done)
    assert "error" not in done.stdout
    assert run_in(project, "git", "status", "--porcelain").stdout == ""


@pytest.mark.parametrize("model", MODELS)
def test_the_projects_own_tests_pass(baked, model):
    """In the profile in which a warning is an error; the student's run in `test_generated_checks`."""
    done = run_in(baked("production", model, "cpu"), sys.executable, "-m", "pytest", "-q")
    assert done.returncode == 0, told(done)
    assert re.search(r"\d+ passed", done.stdout)
    assert "warning" not in done.stdout


def names_of(starter: str) -> set[str]:
    """The classes of a starter's sources: words that mean this starter alone."""
    files = (ROOT / FOLDER / "starters" / starter / "src").rglob("*.py")
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in files]
    return {one.name for tree in trees for one in tree.body if isinstance(one, ast.ClassDef)}


@pytest.mark.parametrize("model", MODELS)
def test_a_project_tells_nothing_of_other_starters(baked, model):
    project = baked("student", model, "cpu")
    text = "\n".join((project / name).read_text(encoding="utf-8") for name in files_of(project))
    words = set(re.findall(r"\w+", text))
    for other in set(MODELS) - {model}:
        of_others = names_of(other) - names_of(model) - {"Llama"}  # also the published name of models to load
        assert of_others
        assert of_others & words == set()


def test_the_accelerators_are_those_of_the_catalogue():
    provable = [name for name in catalogue() if common_lane([name]) is not None]
    assert ASKED["accelerator"] == provable
    assert ASKED["accelerator"][0] == "cpu"


@pytest.mark.parametrize("accelerator", ASKED["accelerator"])
def test_a_choice_of_accelerator_follows_the_catalogue(bake, accelerator):
    """Lane, bound, dtypes, node label: what the template cannot look up must be what the catalogue says."""
    project, row, lane = bake(accelerator=accelerator, profile="production"), catalogue()[accelerator], None
    lab = parse_lab((project / "lab.toml").read_text(encoding="utf-8"))
    lane = common_lane([accelerator])
    assert f"{lane.image}:" in (project / "Dockerfile").read_text(encoding="utf-8")
    assert lab.hardware.accelerators == (accelerator,)
    assert lab.precision.max_ratio == (1.5 if accelerator == "cpu" else 2.0)
    for candidate in lab.precision.candidates:
        assert accelerator == "cpu" or row.support(candidate.removesuffix("-autocast")) == "native"
    if accelerator != "cpu":
        assert f'nvidia.com/gpu.product: "{row.product_label}"' in (project / "gitops/base/gpu.yaml").read_text()


def test_weights_are_ignored_by_git(project):
    """What `gpulab check` refuses does not get into a commit by `git add .` in the first place."""

    def ignored(path: str) -> bool:
        return run_in(project, "git", "check-ignore", "--no-index", path).returncode == 0

    assert [ending for ending in sorted(WEIGHTS) if not ignored(f"src/model{ending}")] == []
    assert not ignored("tests/expected.npy")
    assert not ignored("src/gpu_lab_1/model.py")


@pytest.mark.parametrize(("name", "size"), [("model.pt", 10), ("data.csv", 10_000_001)])
def test_the_pre_commit_hook_refuses_weights_and_large_files(bake, tmp_path, name, size):
    project = bake()
    (project / name).write_bytes(b"x" * size)
    run_in(project, "git", "add", "--force", name)
    done = run_in(project, "pre-commit", "run", "check", PRE_COMMIT_HOME=str(tmp_path), HOME=str(tmp_path))
    assert done.returncode == 1, told(done)
    assert name in done.stdout
    assert RIGHT_WAY[:30] in done.stdout


@pytest.mark.parametrize(("profile", "model", "accelerator"), MATRIX)
def test_every_key_of_the_contract_can_be_found_in_lab_toml(baked, profile, model, accelerator):
    """Those that may be left out stand there as comments, with the value that holds without them."""
    text = (baked(profile, model, accelerator) / "lab.toml").read_text(encoding="utf-8")
    keys = {*Benchmark.model_fields, *Int8.model_fields, *Hardware.model_fields} - (
        {"gpus"} if accelerator == "cpu" else set()
    )
    assert {key for key in keys if not re.search(rf"^(?:# )?{key} = ", text, re.MULTILINE)} == set()
    uncommented = re.sub(rf"^# (\[int8\]$|(?:{'|'.join(keys)}) = )", r"\1", text, flags=re.MULTILINE)
    without, with_all = parse_lab(text).model_dump(), parse_lab(uncommented).model_dump()
    assert with_all.pop("int8")
    assert without.pop("int8") is None
    without["benchmark"]["max_slowdown"] = without["benchmark"]["max_slowdown"] or MAX_SLOWDOWN
    assert with_all == without
