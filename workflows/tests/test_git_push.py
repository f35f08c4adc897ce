"""What git's refusal of a push means for who pushed, and what to type."""

from pathlib import Path

import pytest
from gpulab.cli.git_push import current_branch, refusal, refuse_name
from gpulab.errors import InputError, PlatformError
from gpulab.forges.local.git import Git


def porcelain(why: str) -> str:
    return f"To ./.gpulab/forge.git\n!\trefs/heads/topic:refs/heads/topic\t{why}\nDone\n"


@pytest.mark.parametrize(
    "why",
    [
        "[rejected] (fetch first)",
        "[rejected] (non-fast-forward)",
        "[remote rejected] (failed to update ref)",
        "[remote rejected] (cannot lock ref 'refs/heads/topic': is at 1 but expected 2)",
    ],
)
def test_who_was_slower_is_told_how_to_go_on(why: str) -> None:
    error = refusal(porcelain(why), "topic", "lab")
    assert isinstance(error, InputError)
    assert "git pull --rebase lab topic && gpulab push" in str(error)


def test_what_the_hook_refused_is_the_pushers_to_mend() -> None:
    error = refusal(porcelain("[remote rejected] (pre-receive hook declined)"), "main", "lab")
    assert isinstance(error, InputError)
    assert "line above" in str(error)


@pytest.mark.parametrize("answer", ["", "fatal: no such remote\n", porcelain("[remote rejected] (unpacker error)")])
def test_anything_else_is_worth_another_try(answer: str) -> None:
    error = refusal(answer, "main", "lab")
    assert isinstance(error, PlatformError)
    assert "gpulab push" in str(error)


@pytest.mark.parametrize("branch", ["deploy", "deploy/teaching", "Promote/x", "größe", "a b", "$(TOKEN)", "a" * 201])
def test_a_branch_that_starts_no_run_is_refused(branch: str) -> None:
    with pytest.raises(InputError, match="git branch -m"):
        refuse_name(branch)


@pytest.mark.parametrize("branch", ["main", "topic/x_1.0", "deployment", "a" * 200])
def test_any_other_may_be_pushed(branch: str) -> None:
    refuse_name(branch)


def test_a_shallow_clone_is_told_how_to_become_a_whole_one() -> None:
    error = refusal(porcelain("[remote rejected] (shallow update not allowed)"), "main", "lab")
    assert isinstance(error, InputError)
    assert "git fetch --unshallow" in str(error)


@pytest.mark.parametrize("branch", ["main", "topic/x"])
def test_a_tag_of_the_same_name_does_not_change_the_branch(tmp_path: Path, branch: str) -> None:
    git = Git(tmp_path)
    git.run("init", "-q", "-b", branch)
    git.run("commit", "-q", "--allow-empty", "-m", "Start")
    git.run("tag", branch)
    assert current_branch(git) == branch
    git.run("checkout", "-q", "--detach")
    assert current_branch(git) == ""
