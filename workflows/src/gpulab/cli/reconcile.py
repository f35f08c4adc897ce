"""`gpulab reconcile`: find what was missed (lost events, runs that ended without a word) and mend it."""

from typing import Annotated

import typer

from gpulab.cli.local_project import LocalProject
from gpulab.cli.project import Project, with_runs
from gpulab.cli.words import say
from gpulab.engines.dispatch import drain
from gpulab.engines.reconciling import facts, mend
from gpulab.errors import GpulabError, InputError
from gpulab.forges.local.outbox import aside, put_back
from gpulab.reconcile import Action, Start, missed


def reconcile(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what was missed; change nothing.")] = False,
) -> None:
    """Compare the forge with the runs: start what was never started, close what will never end."""
    project = _local(with_runs())
    for name, why in aside(project.home).items():
        say(f"event {name} could not be delivered: {why}")
    if not dry_run:
        put_back(project.home)
        drain(project.home, project.slug)
    actions = missed(facts(project.home, project.slug))
    for action in actions:
        say(_line(action))
        if not dry_run:
            _mend(project, action)
    if not actions:
        say("nothing was missed")
    elif dry_run:
        say("nothing was changed. To mend it: gpulab reconcile")


def _local(project: Project) -> LocalProject:
    if isinstance(project, LocalProject):
        return project
    raise InputError(
        "a cluster looks for what was missed by itself, every five minutes. To see a commit's: gpulab status"
    )


def _line(action: Action) -> str:
    if isinstance(action, Start):
        return f"start {action.submission.pipeline}: {action.why}"
    return f"close {action.status.context} of {action.revision[:12]}: {action.why}"


def _mend(project: LocalProject, action: Action) -> None:
    """One that cannot be mended does not keep the others from it."""
    try:
        mend(project.home, project.slug, [action])
    except GpulabError as error:
        say(f"  not mended: {error}")
