"""Any text typed as the project's name: refused, or a name that Kubernetes, Python and lab.toml all take."""

import contextlib
import io
import keyword
import re
import sys
import tomllib
from unittest import mock

import pytest
from cookiecutter.generate import generate_context
from cookiecutter.prompt import prompt_for_config
from cookiecutter.utils import create_env_with_context
from gpulab.contract import parse_lab
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import FOLDER, ROOT

DNS_LABEL = re.compile(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?")
typed = st.text(max_size=150) | st.from_regex(r"[A-Za-z0-9 _.\-/]{1,60}", fullmatch=True)


def context_for(name: str, author: str) -> dict:
    """What cookiecutter makes of answers typed at its prompts."""
    context = generate_context(str(ROOT / "cookiecutter.json"))
    typed = {"project_name": name, "author": author}
    with (
        mock.patch("cookiecutter.prompt.read_user_variable", lambda key, default, *_: typed.get(key, default)),
        mock.patch("cookiecutter.prompt.read_user_choice", lambda _key, options, *_: options[0]),
    ):
        return {"cookiecutter": prompt_for_config(context)}


def run_hook(context: dict) -> str:
    """The line with which pre_gen refuses; "" when it does not."""
    source = (ROOT / "hooks" / "pre_gen_project.py").read_text(encoding="utf-8")
    script = create_env_with_context(context).from_string(source).render(**context)
    told = io.StringIO()
    with contextlib.redirect_stderr(told), pytest.raises(SystemExit) as end:
        exec(compile(script, "pre_gen_project.py", "exec"), {"__name__": "hook"})  # noqa: S102  our own hook
    assert (end.value.code == 0) == (told.getvalue() == "")
    return told.getvalue()


def rendered_lab(context: dict) -> str:
    source = (ROOT / FOLDER / "lab.toml").read_text(encoding="utf-8")
    return create_env_with_context(context).from_string(source).render(**context)


@settings(max_examples=300)
@given(name=typed, author=typed)
def test_any_name_is_refused_in_one_line_or_fits_everywhere(name, author):
    context = context_for(name, author)
    refused = run_hook(context)
    if refused:
        assert refused.startswith("ERROR: ")
        assert refused.count("\n") == 1
        assert refused.isascii()
        return
    slug, package = context["cookiecutter"]["project_slug"], context["cookiecutter"]["__package"]
    assert DNS_LABEL.fullmatch(slug)
    assert package.isidentifier()
    assert not keyword.iskeyword(package)
    assert package not in sys.stdlib_module_names
    project = tomllib.loads(rendered_lab(context))["project"]
    assert (project["name"], project["author"]) == (name, author)
    assert parse_lab(rendered_lab(context)).project.package == package


@given(
    words=st.lists(st.sampled_from(["GPU", "lab", "1", "Übung", "课程", "x y", "--", "v2.0"]), min_size=1, max_size=12)
)
def test_ordinary_names_are_taken(words):
    context = context_for("Lab " + " ".join(words), "blue-heron")
    assert run_hook(context) == ""
    assert DNS_LABEL.fullmatch(context["cookiecutter"]["project_slug"])
