"""From an event to a run of the local engine: what Argo's server does with a WorkflowEventBinding."""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from gpulab.engines.errors import AlreadyExists
from gpulab.engines.local_engine import local_engine
from gpulab.errors import InputError
from gpulab.events import Event, Refusal, Submission, push_run, select
from gpulab.forges.local.git import Git
from gpulab.forges.local.outbox import take
from gpulab.home import Home

MAIN = "refs/heads/main"


def deliver(home: Home, project: str, event: Event) -> str | Refusal:
    """Start what an event starts; the run's name, or why there is none. A replayed event starts nothing."""
    chosen = select(event, project)
    if isinstance(chosen, Refusal):
        return chosen
    try:
        return submit(home, project, chosen)
    except AlreadyExists:
        return Refusal(
            f"run {chosen.name} exists already: this commit was judged before. To judge it again: gpulab run"
        )


def drain(home: Home, project: str) -> None:
    """Deliver the events that the steps of ended runs caused."""
    take(home, lambda event: deliver(home, project, event))


def after_run(settings: Mapping[str, str]) -> None:
    """What the engine calls when a run has ended."""
    drain(Home(Path(settings["home"])), settings["project"])


def submit(home: Home, project: str, submission: Submission) -> str:
    """Start a run of a rendered pipeline; its name.

    Raises:
        AlreadyExists: the name was used.
    """
    local_engine(home, project).submit(submission.name, rendered(submission.pipeline), submission.parameters)
    return submission.name


def rendered(pipeline: str) -> dict[str, Any]:
    """A pipeline as it is rendered and committed."""
    text = files("gpulab").joinpath("rendered", f"{pipeline}.yaml").read_text(encoding="utf-8")
    document: dict[str, Any] = yaml.safe_load(text)
    return document


def submit_again(home: Home, project: str, revision: str) -> str:
    """Start another run of a pushed commit, under the next free name (`…-2`, `…-3`).

    Raises:
        InputError: the commit was never pushed.
    """
    if not was_pushed(home, revision):
        raise InputError(f"commit {revision[:12]} is not in the forge's main. Type `gpulab push`.")
    known = attempts(home, revision)
    name = push_run(revision, MAIN) + (f"-{len(known) + 1}" if known else "")
    return submit(home, project, Submission("push", name, {"project": project, "revision": revision, "ref": MAIN}))


def was_pushed(home: Home, revision: str) -> bool:
    """Whether the forge's main contains the commit."""
    git = Git(home.repository)
    return git.run("merge-base", "--is-ancestor", revision, MAIN, check=False).returncode == 0


def attempts(home: Home, revision: str) -> list[str]:
    """The runs of a commit on main, oldest first."""
    base = push_run(revision, MAIN)
    names = [one.name for one in home.runs.glob(f"{base}*")]
    return sorted(names, key=lambda name: int(name.removeprefix(base).removeprefix("-") or "1"))


def sync_run(home: Home, environment: str, revision: str) -> str | None:
    """The run that syncs a commit of a deploy branch, if it was started."""
    name = f"sync-{environment}-{revision[:12]}"
    return name if (home.runs / name).is_dir() else None


def promotion_run(home: Home, head: str) -> str | None:
    """The run that checks the head of a promotion pull request, if it was started."""
    name = f"promotion-{head[:12]}"
    return name if (home.runs / name).is_dir() else None
