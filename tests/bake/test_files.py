"""What a baked project consists of, and that all of it is well-formed."""

import ast
import json
import re
import shutil
import tomllib
from pathlib import Path

import pytest
import yaml

from .conftest import FOLDER, MATRIX, ROOT, files_of

SHARED = {
    ".dockerignore",
    ".gitattributes",
    ".github/workflows/checks.yml",
    ".gitignore",
    ".pre-commit-config.yaml",
    "Dockerfile",
    "Jenkinsfile",
    "Makefile",
    "README.md",
    "gitops/base/deployment.yaml",
    "gitops/base/kustomization.yaml",
    "gitops/base/networkpolicy.yaml",
    "gitops/base/service.yaml",
    "gitops/base/serviceaccount.yaml",
    "gitops/overlays/production/kustomization.yaml",
    "gitops/overlays/production/resources.yaml",
    "gitops/overlays/teaching/kustomization.yaml",
    "lab.toml",
    "pyproject.toml",
    "requirements-dev.txt",
    "requirements-platform.txt",
    "requirements.txt",
    "src/gpu_lab_1/__init__.py",
    "src/gpu_lab_1/model.py",
    "src/gpu_lab_1/predictor.py",
    "src/gpu_lab_1/serve.py",
    "tests/conftest.py",
    "tests/test_model.py",
    "tests/test_serve.py",
}
STARTER = {
    "llama": set(),
    "resnet50": {"src/gpu_lab_1/train.py", "tests/test_train.py"},
    "custom": {"src/gpu_lab_1/pretrained.py", "tests/test_pretrained.py"},
}
PRODUCTION = {
    ".github/CODEOWNERS",
    "gitops/components/available/kustomization.yaml",
    "gitops/components/available/poddisruptionbudget.yaml",
    "gitops/components/available/spread.yaml",
}
PRODUCTION_ON = {
    "cpu": {
        "gitops/overlays/production/autoscaled.yaml",
        "gitops/overlays/production/horizontalpodautoscaler.yaml",
    },
    "h100": {"gitops/base/gpu.yaml"},
}
PARSERS = {
    ".json": json.loads,
    ".py": ast.parse,
    ".toml": tomllib.loads,
    ".yaml": lambda text: list(yaml.safe_load_all(text)),
    ".yml": lambda text: list(yaml.safe_load_all(text)),
}


def texts(folder: Path) -> dict[str, str]:
    return {name: (folder / name).read_bytes().decode("utf-8") for name in files_of(folder)}


@pytest.mark.parametrize(("profile", "model", "accelerator"), MATRIX)
def test_the_project_has_exactly_these_files(baked, profile, model, accelerator):
    of_profile = PRODUCTION | PRODUCTION_ON[accelerator] if profile == "production" else set()
    assert files_of(baked(profile, model, accelerator)) == sorted(SHARED | STARTER[model] | of_profile)


def test_there_is_one_template_folder(template):
    assert [path.name for path in ROOT.iterdir() if "{{" in path.name] == [FOLDER]
    assert FOLDER == "{{cookiecutter.project_slug}}"


@pytest.mark.parametrize("choices", MATRIX)
def test_nothing_of_the_template_language_is_left_over(baked, choices):
    for name, text in texts(baked(*choices)).items():
        assert "starters/" not in text, name
        assert "profiles/" not in text, name
        assert "cookiecutter." not in name + text.replace(".cookiecutter", ""), name
        assert "{%" not in text, name
        assert not re.search(r"(?<!\$)\{\{", text), name


@pytest.mark.parametrize("choices", MATRIX)
def test_every_file_parses(baked, choices):
    for name, text in texts(baked(*choices)).items():
        PARSERS.get(Path(name).suffix, str)(text)


@pytest.mark.parametrize("choices", MATRIX)
def test_every_file_ends_with_one_line_end_and_has_no_carriage_return(baked, choices):
    for name, text in texts(baked(*choices)).items():
        assert "\r" not in text, name
        assert text.endswith("\n"), name
        assert not text.endswith("\n\n"), name
        assert not re.search(r"[ \t]\n", text), name


def test_expressions_of_github_survive(project):
    text = (project / ".github/workflows/checks.yml").read_text(encoding="utf-8")
    assert "${{ github.ref }}" in text
    assert "${{ vars.GPULAB_TEMPLATE }}" in text


def test_files_without_questions_are_copied_byte_for_byte(project, template):
    for name in (".github/workflows/checks.yml", ".pre-commit-config.yaml", "Jenkinsfile", "Makefile"):
        assert (project / name).read_bytes() == (template / FOLDER / name).read_bytes()
    sources = template / FOLDER / "src" / "{{cookiecutter.__package}}"
    starter = template / FOLDER / "starters" / "llama" / "src"
    for source in (*sources.iterdir(), *starter.iterdir()):
        assert (project / "src" / "gpu_lab_1" / source.name).read_bytes() == source.read_bytes()


def test_a_template_checked_out_with_windows_line_ends_still_gives_unix_ones(bake, template, tmp_path):

    copy = shutil.copytree(template, tmp_path / "windows", ignore=shutil.ignore_patterns(".git"))
    for name in ("lab.toml", "README.md", "gitops/base/deployment.yaml", "starters/llama/tests/conftest.py"):
        file = copy / FOLDER / name
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert not any("\r" in text for text in texts(bake(source=copy)).values())


def test_actions_are_pinned_and_have_no_rights_but_reading(project):
    workflow = (project / ".github/workflows/checks.yml").read_text(encoding="utf-8")
    uses = re.findall(r"uses: (\S+)", workflow)
    assert uses
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", action) for action in uses)
    parsed = yaml.safe_load(workflow)
    assert parsed["permissions"] == {}
    assert [job["permissions"] for job in parsed["jobs"].values()] == [{"contents": "read"}] * 2


def test_no_value_of_github_is_spliced_into_a_shell(project):
    """A branch may be called `$(…)`: values get into a step through its environment alone."""
    parsed = yaml.safe_load((project / ".github/workflows/checks.yml").read_text(encoding="utf-8"))
    scripts = [step["run"] for job in parsed["jobs"].values() for step in job["steps"] if "run" in step]
    assert "gpulab trigger" in "".join(scripts)
    assert not any("${{" in script for script in scripts)
    jenkins = (project / "Jenkinsfile").read_text(encoding="utf-8")
    shells = re.findall(r"\bsh\b(.*)", jenkins)
    assert any("gpulab trigger" in line for line in shells)
    assert all(re.fullmatch(r" '[^']*'", line) for line in shells)  # in double quotes Groovy would put values in


@pytest.mark.parametrize("choices", MATRIX)
def test_one_resource_per_file(baked, choices):
    for file in (baked(*choices) / "gitops").rglob("*.yaml"):
        documents = list(yaml.safe_load_all(file.read_text(encoding="utf-8")))
        assert len(documents) == 1, file
        assert documents[0]["kind"], file


def test_every_question_and_choice_has_a_sentence():
    asked = json.loads((ROOT / "cookiecutter.json").read_text(encoding="utf-8"))
    questions = [key for key in asked if not key.startswith("_")]
    assert questions == ["project_name", "profile", "model", "accelerator", "course", "author", "forge", "registry"]
    for key in questions:
        sentence = asked["__prompts__"][key]
        if isinstance(asked[key], list):
            assert set(sentence) == {"__prompt__", *asked[key]}
            sentence = sentence["__prompt__"]
        assert len(sentence.split()) >= 3
