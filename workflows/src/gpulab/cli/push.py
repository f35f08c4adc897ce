"""`gpulab push`: push the current branch to the forge, watch its run and sync, end with the verdict's exit code."""

import re
from typing import Annotated

import typer

from gpulab.cli.follow import follow_plain
from gpulab.cli.git_push import branch_to_push, git_push
from gpulab.cli.project import Project, connected
from gpulab.cli.runs import watch_to_the_end
from gpulab.cli.words import say
from gpulab.engines.again import push_of, sync_of
from gpulab.errors import InputError
from gpulab.events import MAIN, SKIP, sync_context


def push(
    allow_dirty: Annotated[bool, typer.Option("--allow-dirty", help="Push the last commit as it is.")] = False,
) -> None:
    """Push the last commit of this branch and wait for its verdict; only main is released."""
    project = connected()
    branch = branch_to_push(project, allow_dirty)
    project.refuse(f"refs/heads/{branch}")
    git_push(project, branch)
    ref = f"refs/heads/{branch}"
    code = watch_to_the_end(project, run_of(project, project.git.commit_id(ref) or "", ref))
    if code == 0 and ref != MAIN:
        say(f"{branch} is checked, not released: only main is. Next: git switch main && git merge {branch}")
    raise typer.Exit(code if code or ref != MAIN else watch_sync(project, "teaching"))


def run_of(project: Project, head: str, ref: str) -> str:
    """The run that the push started.

    Raises:
        InputError: the commit asks for no run.
    """
    due = push_of(project.forge, project.slug, head, ref)
    skipped = re.match(SKIP, project.git.text("log", "-1", "--format=%B", head))
    if skipped and not project.attempts(due):
        raise InputError(
            f"pushed, and skipped as the commit's subject asks: nothing was judged. To judge it: gpulab run {head[:12]}"
        )
    return project.started(due)


def watch_sync(project: Project, environment: str) -> int:
    """Follow the sync that a release or a merge started; 0 when the environment runs it."""
    forge = project.forge
    head = forge.head(f"deploy/{environment}")
    if head is None:
        return 0
    follow_plain(project.follow(project.started(sync_of(project.slug, environment, head))))
    said = forge.statuses(head).get(sync_context(environment))
    if said is not None:
        say(f"{environment}: {said.state}: {said.description}")
    if said is not None and said.state == "error":
        say(f"To try the sync again: gpulab run deploy/{environment}")
        return 3
    return 0 if said is not None and said.state == "success" else 1
