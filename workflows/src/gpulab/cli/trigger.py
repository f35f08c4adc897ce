"""`gpulab trigger`: send a push event to Argo's server, where the forge's webhook cannot reach the cluster.

CI types it after the fast checks. A repeated event is refused by the cluster: the run's name follows from it.
"""

import os
import re
from typing import Annotated

import typer

from gpulab.cli.project import Project, here
from gpulab.cli.words import say
from gpulab.engines.event_endpoint import EVENTS_URL, push_payload, request_of, send
from gpulab.errors import InputError
from gpulab.events import PUSHED_REF, PushEvent, Refusal, select

NONE = "0" * 40
"""`before`: CI does not know what the branch was, and no binding asks."""

Revision = Annotated[str, typer.Option("--revision", envvar="GPULAB_REVISION", help="The commit; default: HEAD.")]
Ref = Annotated[str, typer.Option("--ref", envvar="GPULAB_REF", help="refs/heads/…; default: the current branch.")]


def trigger(revision: Revision = "", ref: Ref = "") -> None:
    """Start the pipeline of a pushed commit in the cluster."""
    project = here()
    event = event_of(project, revision or "HEAD", ref)
    chosen = select(event, project.slug)
    if isinstance(chosen, Refusal):
        say(f"nothing was sent: {chosen.reason}")
        return
    send(request_of(push_payload(event), os.environ))
    say(f"sent to {os.environ[EVENTS_URL]}")
    say(f"commit {event.after[:12]} of {event.ref}; its run is called {chosen.name}")


def event_of(project: Project, revision: str, ref: str) -> PushEvent:
    """The push that a forge would have told.

    Raises:
        InputError: the commit is not here, or the ref is no branch.
    """
    commit = project.git.commit_id(revision)
    if commit is None:
        raise InputError(f"revision: {revision!r} names no commit of this repository. Type: git fetch, or a commit id")
    ref = ref or f"refs/heads/{project.git.text('rev-parse', '--abbrev-ref', 'HEAD')}"
    if ref == "refs/heads/HEAD":
        raise InputError("ref: this checkout is on no branch. Type: gpulab trigger --ref refs/heads/main")
    if re.fullmatch(PUSHED_REF[1:-1], ref) is None:
        raise InputError(f"ref: found {ref!r}, allowed: refs/heads/… as git names it, e.g. --ref refs/heads/main")
    return PushEvent(ref, NONE, commit, project.git.text("log", "-1", "--format=%B", commit))
