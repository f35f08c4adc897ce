"""The list of verbs, and what typing one of them imports."""

import inspect
import subprocess
import sys
from importlib import import_module

import pytest
from gpulab.cli.app import VERBS, app, described

MAINTAINERS = {"render", "project", "doctor", "platform"}
"""Verbs that render the pipelines, and so need Hera."""

HEAVY = {"torch", "hera", "matplotlib", "scipy", "cookiecutter"}


@pytest.mark.parametrize("verb", VERBS)
def test_the_list_says_what_the_verb_says_itself(verb: str) -> None:
    module, _, function = VERBS[verb].partition(":")
    assert described(VERBS[verb]) == inspect.getdoc(getattr(import_module(module), function)) != ""


def test_the_list_names_every_verb() -> None:
    assert [command.name for command in app(["--help"]).registered_commands] == list(VERBS)


def test_a_typed_verb_is_itself_even_behind_an_option() -> None:
    assert app(["--", "check"]).registered_commands[0].callback is import_module("gpulab.cli.check").check


def test_verbs_that_a_student_types_start_without_what_only_pods_need() -> None:
    modules = sorted({target.partition(":")[0] for verb, target in VERBS.items() if verb not in MAINTAINERS})
    code = f"import sys, {', '.join(modules)}; print(*{HEAVY!r} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
