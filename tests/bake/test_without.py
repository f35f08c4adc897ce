"""Generation never fails because a convenience is missing or in a mood."""

import os
import shutil
import subprocess
import sys

import pytest
from cookiecutter.exceptions import FailedHookException

from .conftest import files_of, run_git


@pytest.fixture
def tools(tmp_path):
    """A folder to be the whole PATH, and a way to put a fake program into it."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def fake(name: str, script: str) -> str:
        program = folder / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        return str(folder)

    return fake


def committed(project) -> bool:
    return (project / ".git").is_dir() and run_git(project, "rev-list", "--count", "HEAD") == "1"


def test_the_first_commit_is_on_main_with_a_neutral_author_and_the_remote_lab(project):
    assert committed(project)
    assert run_git(project, "symbolic-ref", "HEAD") == "refs/heads/main"
    assert run_git(project, "status", "--porcelain") == ""
    assert run_git(project, "log", "--format=%an %ae") == "gpulab template template@gpulab.invalid"
    assert run_git(project, "remote", "get-url", "lab") == "./.gpulab/forge.git"
    config = (project / ".git" / "config").read_text(encoding="utf-8")
    assert "template@" not in config
    assert "[user]" not in config


def test_an_identity_that_is_set_is_used(bake, tmp_path):
    settings = tmp_path / "gitconfig"
    settings.write_text("[user]\n\tname = Ada\n\temail = ada@example.invalid\n")
    project = bake(env={"GIT_CONFIG_GLOBAL": str(settings)})
    assert run_git(project, "log", "--format=%an %ae") == "Ada ada@example.invalid"


def test_signing_other_branch_names_and_failing_hooks_do_not_matter(bake, tmp_path, tools):
    hooks = tools("pre-commit", "exit 1")
    tools("prepare-commit-msg", "exit 1")
    settings = tmp_path / "gitconfig"
    moods = ["[commit]", "gpgsign = true", "[gpg]", "program = false", "[init]", "defaultBranch = trunk"]
    settings.write_text("\n".join([*moods, "[core]", f"hooksPath = {hooks}"]) + "\n")
    project = bake(env={"GIT_CONFIG_GLOBAL": str(settings)})
    assert committed(project)
    assert run_git(project, "symbolic-ref", "HEAD") == "refs/heads/main"


def test_the_variables_of_a_git_hook_around_us_touch_no_other_repository(bake, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    run_git(other, "init", "--quiet")
    variables = {
        "GIT_DIR": str(other / ".git"),
        "GIT_WORK_TREE": str(other),
        "GIT_INDEX_FILE": str(other / ".git/index"),
    }
    assert committed(bake(env=variables))
    assert not (other / ".git" / "index").exists()


def test_without_git_the_project_is_complete_and_the_platform_is_pinned_by_version(bake, tools, capfd, project):
    bare = bake(env={"PATH": tools("nothing", "exit 1")})
    assert files_of(bare) == files_of(project)
    assert not (bare / ".git").exists()
    assert "gpulab==0.1.0" in (bare / "requirements-platform.txt").read_text(encoding="utf-8")
    assert "git init -b main" in capfd.readouterr().out


def test_a_git_that_fails_costs_nothing_but_the_commit(bake, tools, capfd, project):
    broken = bake(env={"PATH": tools("git", "echo fatal: no >&2; exit 128")})
    assert files_of(broken) == files_of(project)
    assert "git init -b main" in capfd.readouterr().out


def test_without_a_network_and_a_home_folder(bake, project):
    lonely = bake(env={"HOME": "/dev/null/no", "GIT_ALLOW_PROTOCOL": "none", "https_proxy": "http://127.0.0.1:9"})
    assert files_of(lonely) == files_of(project)
    assert committed(lonely)


def test_an_existing_repository_is_left_alone_when_forced_over(bake, template, tmp_path):
    project = bake(into=tmp_path)
    (project / "src" / "mine.py").write_text("mine = 1\n")
    run_git(project, "add", "--all")
    run_git(project, "commit", "--quiet", "-m", "mine")
    command = [sys.executable, "-m", "cookiecutter", "--default-config", "--no-input", "-f", str(template)]
    environment = os.environ | {"HOME": str(tmp_path)}
    subprocess.run([*command, "-o", str(tmp_path)], env=environment, check=True, capture_output=True, timeout=120)
    assert run_git(project, "rev-list", "--count", "HEAD") == "2"
    assert (project / "src" / "mine.py").read_text() == "mine = 1\n"


def test_without_its_starter_there_is_no_project(bake, template, tmp_path, capfd):
    """The one step of the hook that is no convenience: half a project would be worse than none."""
    copy = shutil.copytree(template, tmp_path / "broken", ignore=shutil.ignore_patterns(".git"))
    shutil.rmtree(next(copy.glob("{{*")) / "starters" / "resnet50")
    into = tmp_path / "into"
    with pytest.raises(FailedHookException):
        bake(source=copy, into=into, model="resnet50")
    assert "starters/resnet50" in capfd.readouterr().err
    assert files_of(into) == []
    assert bake(source=copy, into=into, model="llama").is_dir()


def test_an_error_in_a_convenience_is_told_and_costs_nothing(bake, template, tmp_path, capfd, project):
    copy = shutil.copytree(template, tmp_path / "broken")
    hook = copy / "hooks" / "post_gen_project.py"
    hook.write_text(
        hook.read_text(encoding="utf-8").replace("    folder = template_folder()", "    raise OSError('disk')")
    )
    assert files_of(bake(source=copy)) == files_of(project)
    assert "a convenience failed: OSError: disk" in capfd.readouterr().err
