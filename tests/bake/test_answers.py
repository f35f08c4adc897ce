"""Answers are data: each either comes back exactly as typed, or is refused in one line and leaves nothing behind."""

import html
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from cookiecutter.exceptions import FailedHookException, OutputDirExistsException
from gpulab.contract import parse_lab
from jinja2 import TemplateSyntaxError

from .conftest import away_from_home, files_of, run_git

TEXTS = [
    'O\'Brien "x"',
    'a\\b \\u0041 \\" end\\',
    "rocket 🚀 and family 👩‍👩‍👧",
    "x\"; import os; open('pwned','w').close() #",
    '"""; import os; open("pwned","w")\n'.strip(),
    "lab $(touch pwned) `touch pwned` ${HOME}",
    "课程 实验",
    "معمل ١ lab",
    "# lab: [not] {yaml}, & *alias !tag | > %",
    "<script>alert(1)</script> **lab** [a](b)",
    "../evil",
    "-a",
    "lab = 1",
    "x" * 120,
    "ﬁne  two spaces\u3000wide",
]
REFUSED = {
    "two\nlines": "try",
    "tab\there": "try",
    "bell\x07 del\x7f": "try",
    "line\u2028separator": "try",
    "turned \u202elab": "try",
    "x" * 300: "120",
    "": "empty",
    "   ": "empty",
}
NAMES = {
    "9lives": "lab-9lives",
    "---": "GPU Lab 1",
    "🚀": "GPU Lab 1",
    "con": "con-lab",
    "torch": "torch-lab",
    "Model Tests": "model-tests-lab",
    "test": "test-lab",
    "json": "json-lab",
    "class": "class-lab",
    "None!": None,
    "yes": "yes-lab",
    "null": "null-lab",
    "site-customize": None,
    "sitecustomize": "sitecustomize-lab",
    "gpulab": "gpulab-lab",
}


def lab_of(project: Path) -> dict:
    return tomllib.loads((project / "lab.toml").read_text(encoding="utf-8"))


def refusal(bake, capfd, tmp_path: Path, **answers: str) -> str:
    """The one line of a refusal, after making sure that it left nothing behind."""
    target = tmp_path / "in" / "here"
    target.mkdir(parents=True)
    with pytest.raises(FailedHookException):
        bake(into=target, **answers)
    assert [path for path in tmp_path.rglob("*") if path.name not in ("in", "here")] == []
    lines = capfd.readouterr().err.strip().splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("ERROR: ")
    return lines[0]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_comes_back_exactly_as_typed(bake, text):
    name = text if text[:1].isalpha() else f"lab {text}"
    project = bake(project_name=name, author=text)
    assert (lab_of(project)["project"]["name"], lab_of(project)["project"]["author"]) == (name, text)
    assert name in html.unescape((project / "README.md").read_text(encoding="utf-8"))
    assert not list(project.parent.rglob("pwned*"))
    lab = parse_lab((project / "lab.toml").read_text(encoding="utf-8"))
    assert lab.project.slug == project.name
    for file in project.rglob("*.py"):
        compile(file.read_text(encoding="utf-8"), file.name, "exec")


@pytest.mark.parametrize("text", REFUSED)
@pytest.mark.parametrize("key", ["project_name", "author"])
def test_a_text_that_cannot_be_seen_or_kept_is_refused(bake, capfd, tmp_path, key, text):
    line = refusal(bake, capfd, tmp_path, **{key: text})
    assert key in line
    assert REFUSED[text] in line


@pytest.mark.parametrize("name", [name for name in NAMES if NAMES[name]])
def test_a_name_that_others_own_is_refused_with_a_better_one(bake, capfd, tmp_path, name):
    line = refusal(bake, capfd, tmp_path, project_name=name)
    assert f"try {NAMES[name]}" in line
    assert bake(project_name=NAMES[name])


@pytest.mark.parametrize("name", [name for name in NAMES if NAMES[name] is None])
def test_a_name_that_only_looks_like_one_is_taken(bake, name):
    assert bake(project_name=name)


@pytest.mark.parametrize(
    ("typed", "better"),
    [("CS 101", "cs-101"), ("Übung: GPU", "ubung-gpu"), ("gpu_101", "gpu-101"), ("课程", "none"), ("a" * 41, "a" * 40)],
)
def test_a_course_that_cannot_be_a_label_is_refused_with_a_better_one(bake, capfd, tmp_path, typed, better):
    assert refusal(bake, capfd, tmp_path, course=typed).endswith(f"try {better}")
    assert bake(course=better)


@pytest.mark.parametrize(("typed", "kept"), [("none", ""), ("", ""), ("gpu-101", "gpu-101"), ("101", "101")])
def test_a_course_is_kept_and_none_is_no_course(bake, typed, kept):
    assert lab_of(bake(course=typed))["project"]["course"] == kept


def test_a_production_project_belongs_to_no_course(bake):
    project = bake(course="gpu-101", profile="production")
    assert lab_of(project)["project"]["course"] == ""
    assert "gpu-101" not in (project / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("forge", ["gitea", "github"])
@pytest.mark.parametrize("registry", ["local", "registry.example.org/team", "10.0.0.1:5000"])
def test_forge_and_registry_stand_in_the_contract(bake, forge, registry):
    project = bake(forge=forge, registry=registry)
    lab = parse_lab((project / "lab.toml").read_text(encoding="utf-8"))
    place = "gpulab.local" if registry == "local" else registry
    assert (lab.delivery.forge, lab.delivery.image) == (forge, f"{place}/gpu-lab-1")


@pytest.mark.parametrize(
    ("typed", "forge", "better"),
    [
        ("https://Registry.example.org/team/", "gitea", "registry.example.org/team"),
        ("a b", "github", "registry.example.org/team"),
        ("", "gitea", "registry.example.org/team"),
        ("x:tag:tag", "gitea", "registry.example.org/team"),
        ("registry.example.org/team", "local", "local"),
    ],
)
def test_a_registry_that_no_image_can_be_named_after_is_refused(bake, capfd, tmp_path, typed, forge, better):
    assert refusal(bake, capfd, tmp_path, registry=typed, forge=forge).endswith(f"try {better}")


@pytest.mark.parametrize("forge", ["gitea", "github"])
def test_a_project_of_a_cluster_has_no_local_forge(bake, capfd, forge):
    project = bake(forge=forge)
    told = capfd.readouterr().out
    assert "git remote add origin https://" in told
    assert "gpulab project connect" in told
    assert run_git(project, "remote") == ""
    readme = (project / "README.md").read_text(encoding="utf-8")
    assert "git push origin main" in readme
    assert "GPULAB_ARGO_URL" in readme
    assert " lab main" not in readme
    assert "\n\n\n" not in readme


@pytest.mark.parametrize("derived", [{"__slug": "../evil"}, {"__slug": "UPPER"}, {"__package": "os"}])
def test_derived_names_cannot_be_set_to_something_else(bake, capfd, tmp_path, derived):
    refusal(bake, capfd, tmp_path, **derived)


def test_a_slug_given_as_an_answer_is_ignored(bake):
    assert bake(project_slug="../evil").name == "gpu-lab-1"


def test_an_existing_folder_is_not_touched(bake, tmp_path):
    kept = tmp_path / "gpu-lab-1" / "mine.txt"
    kept.parent.mkdir()
    kept.write_text("mine")
    with pytest.raises(OutputDirExistsException):
        bake(into=tmp_path)
    assert files_of(tmp_path) == ["gpu-lab-1/mine.txt"]


@pytest.mark.parametrize("typed", ["a {{ 7*7 }} b", "{% raw %}", "{# x #}"])
def test_template_syntax_typed_at_a_prompt_is_refused(template, tmp_path, typed):
    answers = "\n".join([typed, *[""] * 7]) + "\n"
    with away_from_home(tmp_path):
        done = subprocess.run(
            [sys.executable, "-m", "cookiecutter", "--default-config", str(template), "-o", str(tmp_path / "out")],
            input=answers, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
    assert done.returncode == 1
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
    assert len(errors) == 1
    assert "template syntax" in errors[0]
    assert files_of(tmp_path / "out") == []


def test_template_syntax_on_the_command_line_is_rendered_by_cookiecutter_itself(bake, tmp_path):
    """The limit that docs/ names: no hook sees what was typed; `gpulab new` does, and refuses it."""
    assert lab_of(bake(project_name="lab {{ 7*7 }}"))["project"]["name"] == "lab 49"
    with pytest.raises(TemplateSyntaxError):
        bake(into=tmp_path, project_name="{% if %}")
    with pytest.raises(FailedHookException):
        bake(into=tmp_path, project_name="{% raw %}")
    assert files_of(tmp_path) == []


def test_a_terminal_without_unicode_costs_neither_project_nor_next_steps(bake, capfd):
    name = "lab 🚀 课程"
    assert lab_of(bake(env={"PYTHONIOENCODING": "ascii"}, project_name=name))["project"]["name"] == name
    assert "make push" in capfd.readouterr().out


def test_the_answers_used_are_printed_with_three_next_steps(bake, capfd):
    bake(project_name="My Lab", course="gpu-101")
    told = capfd.readouterr().out
    assert "My Lab" in told
    assert "gpu-101" in told
    assert [line.split(".")[0].strip() for line in told.splitlines() if line.startswith("  ") and ". " in line] == list(
        "123"
    )


def test_a_choice_that_is_not_offered_is_no_project(bake, tmp_path):
    with pytest.raises(ValueError, match="accelerator"):
        bake(into=tmp_path, accelerator="abacus")
    assert files_of(tmp_path) == []


def test_the_answers_are_read_as_data_by_the_hooks(template):
    for hook in (template / "hooks").iterdir():
        source = hook.read_text(encoding="utf-8")
        assert source.count("{{") == 1, hook.name
        assert 'json.loads(r"""\n{{ cookiecutter | tojson }}\n""")' in source
        assert json.loads(json.dumps(source)) == source
