"""`gpulab push`: push main to the forge, watch the run and its sync, end with the verdict's exit code."""

import os
import subprocess
from typing import Annotated

import typer

from gpulab.cli.follow import follow_plain
from gpulab.cli.project import Project, connected
from gpulab.cli.runs import watch_to_the_end
from gpulab.cli.words import say
from gpulab.engines.dispatch import attempts, drain, submit_again, sync_run
from gpulab.errors import InputError, PlatformError
from gpulab.events import sync_context
from gpulab.forges.local.connect import REMOTE
from gpulab.forges.local.git import clean_environment
from gpulab.forges.local.hook import QUIET


def push(
    allow_dirty: Annotated[bool, typer.Option("--allow-dirty", help="Push the last commit as it is.")] = False,
) -> None:
    """Push the last commit of main and wait for its verdict."""
    project = connected()
    refuse_what_cannot_be_pushed(project, allow_dirty)
    git_push(project)
    head = project.git.commit_id("main") or ""
    known = attempts(project.home, head)
    run = known[-1] if known else submit_again(project.home, project.slug, head)
    code = watch_to_the_end(project, run)
    raise typer.Exit(code or watch_sync(project, "teaching"))


def refuse_what_cannot_be_pushed(project: Project, allow_dirty: bool) -> None:
    """No commits, no main, or changes that the push would silently leave out.

    Raises:
        InputError: saying what to type.
    """
    git = project.git
    if git.commit_id("HEAD") is None:
        raise InputError("this repository has no commit yet. Type: git add -A && git commit -m 'Start'")
    if git.commit_id("refs/heads/main") is None:
        raise InputError("there is no branch main here. Type: git branch -m main")
    branch = git.text("rev-parse", "--abbrev-ref", "HEAD")
    if branch != "main":
        where = "on no branch" if branch == "HEAD" else f"on {branch}"
        raise InputError(f"you are {where}, and main is what is pushed. Type: git switch main && git merge {branch}")
    changed = git.run("status", "--porcelain").stdout.decode(errors="replace").splitlines()
    if changed and not allow_dirty:
        files = ", ".join(line[3:] for line in changed[:5])
        more = " …" if len(changed) > 5 else ""
        raise InputError(
            f"not committed: {files}{more}. Type: git add -A && git commit -m 'What I changed', "
            "or `gpulab push --allow-dirty` to push the last commit without it"
        )


def git_push(project: Project) -> None:
    """`git push lab main`, its output passed through; the hook starts the run and does not follow it.

    Raises:
        PlatformError: git refused, for a reason it has just printed.
    """
    command = ["git", "-C", str(project.root), "push", REMOTE, "main"]
    done = subprocess.run(command, env=clean_environment() | {QUIET: "1"} | _ssh(), check=False)
    if done.returncode != 0:
        raise PlatformError("git push was refused; git says why above. Your commits are where they were.")


def _ssh() -> dict[str, str]:
    return {name: os.environ[name] for name in ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS") if name in os.environ}


def watch_sync(project: Project, environment: str) -> int:
    """Follow the sync that a release or a merge started; 0 when the environment runs it."""
    drain(project.home, project.slug)
    forge = project.platform.forge
    head = forge.head(f"deploy/{environment}")
    run = sync_run(project.home, environment, head) if head else None
    if head is None or run is None:
        return 0
    follow_plain(project.home, run, project.slug)
    said = forge.statuses(head).get(sync_context(environment))
    if said is not None:
        say(f"{environment}: {said.state}: {said.description}")
    return 0 if said is not None and said.state == "success" else 1
