"""Answers to the template's questions: refused in one line by the hook, or found again in the project as data."""

import io
import json
import re
import shutil
import tomllib
from collections.abc import Callable
from contextlib import redirect_stderr
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from cookiecutter.environment import StrictEnvironment
from cookiecutter.exceptions import UndefinedVariableInTemplate
from cookiecutter.generate import apply_overwrites_to_context
from cookiecutter.main import cookiecutter
from cookiecutter.prompt import prompt_for_config
from generating import HOSTILE, cases, edited
from gpulab.contract import parse_lab
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import TemplateError

ROOT = Path(__file__).parents[2]
QUESTIONS = json.loads((ROOT / "cookiecutter.json").read_text(encoding="utf-8"))
FOLDER = next(path for path in ROOT.iterdir() if path.name.startswith("{{"))
TEXTS = [f"Lab {text}" for text in HOSTILE] + HOSTILE
names = (
    st.sampled_from(TEXTS)
    | st.sampled_from(["GPU Lab 1", "课程 lab", "Ünïcode"]).flatmap(edited)
    | st.text(max_size=40)
)
choices = {
    key: st.sampled_from([*QUESTIONS[key], *HOSTILE[:12]]) for key in ("profile", "model", "accelerator")
}  # fmt: skip
answers = st.fixed_dictionaries({}, optional={"project_name": names, "author": names, "course": names, **choices})


def context_of(given_answers: dict[str, str]) -> dict[str, Any] | None:
    """The whole context that cookiecutter makes of answers, as it does it; None when it refuses them by itself.

    It renders every answer as a template, so a broken one ends there, before the hook.
    """
    context = {"cookiecutter": json.loads(json.dumps(QUESTIONS))}
    try:
        apply_overwrites_to_context(context["cookiecutter"], given_answers)
        return {"cookiecutter": prompt_for_config(context, no_input=True)}
    except (ValueError, TemplateError, UndefinedVariableInTemplate):
        return None


@cache
def environment() -> StrictEnvironment:
    variables = {"_jinja2_env_vars": QUESTIONS["_jinja2_env_vars"]}
    return StrictEnvironment(
        context={"cookiecutter": variables}, keep_trailing_newline=True, **variables["_jinja2_env_vars"]
    )


@cache
def template_of(path: Path) -> Any:
    return environment().from_string(path.read_text(encoding="utf-8"))


def refusal(context: dict[str, Any]) -> str:
    """What the hook says; "" when it lets the answers through."""
    source = template_of(ROOT / "hooks" / "pre_gen_project.py").render(**context)
    said = io.StringIO()
    with redirect_stderr(said), pytest.raises(SystemExit) as end:
        exec(compile(source, "pre_gen_project.py", "exec"), {"__name__": "hook"})  # noqa: S102  it is our own hook
    assert (end.value.code == 0) == (said.getvalue() == "")
    return said.getvalue()


def found_again(lab: dict[str, Any], context: dict[str, Any]) -> None:
    given_answers = context["cookiecutter"]
    project = lab["project"]
    assert (project["name"], project["author"]) == (given_answers["project_name"], given_answers["author"])
    assert re.fullmatch(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?", project["slug"])
    assert (lab["model"]["family"], project["profile"]) == (given_answers["model"], given_answers["profile"])
    assert lab["hardware"]["accelerators"] == [given_answers["accelerator"]]


@cases(700)
@given(answers)
def test_answers_are_refused_in_one_line_or_stand_in_the_contract(
    nothing_executed: Path, given_answers: dict[str, str]
) -> None:
    context = context_of(given_answers)
    if context is None:
        return
    said = refusal(context)
    if said:
        assert re.fullmatch(r"ERROR: [^\n]+\n", said)
        assert said.isascii() or said.replace("\n", "").isprintable()
        return
    text = template_of(FOLDER / "lab.toml").render(**context)
    parse_lab(text)
    found_again(tomllib.loads(text), context)


@pytest.fixture(scope="module")
def bake(tmp_path_factory: pytest.TempPathFactory) -> Callable[[dict[str, str]], Path]:
    """Bakes with both hooks, from a copy of the template."""
    copy, out = tmp_path_factory.mktemp("template"), tmp_path_factory.mktemp("out")
    shutil.copy(ROOT / "cookiecutter.json", copy)
    for folder in (ROOT / "hooks", FOLDER):
        shutil.copytree(folder, copy / folder.name, ignore=shutil.ignore_patterns("__pycache__"))

    def run(given_answers: dict[str, str]) -> Path:
        shutil.rmtree(out)
        return Path(cookiecutter(str(copy), no_input=True, default_config=True, extra_context=given_answers,
                                 output_dir=str(out)))  # fmt: skip

    return run


@cases(12)
@given(
    st.sampled_from(TEXTS),
    st.sampled_from(TEXTS),
    st.sampled_from(QUESTIONS["model"]),
    st.sampled_from(QUESTIONS["profile"]),
    st.sampled_from(QUESTIONS["accelerator"]),
)
def test_a_baked_project_holds_the_answers_and_nothing_ran(
    bake: Callable[[dict[str, str]], Path], name: str, author: str, model: str, profile: str, accelerator: str
) -> None:
    given_answers = {
        "project_name": name,
        "author": author,
        "model": model,
        "profile": profile,
        "accelerator": accelerator,
    }
    context = context_of(given_answers)
    if context is None or refusal(context):
        return
    project = bake(given_answers)
    found_again(tomllib.loads((project / "lab.toml").read_text(encoding="utf-8")), context)
    assert [path for path in project.parent.rglob("*") if path.name == "canary"] == []
    for file in project.rglob("*.py"):
        compile(file.read_text(encoding="utf-8"), str(file), "exec")
