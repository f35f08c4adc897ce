"""From an event to a run of the local engine: what Argo's server does with a WorkflowEventBinding."""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from gpulab.engines.attempts import next_name
from gpulab.engines.errors import AlreadyExists
from gpulab.engines.local.record import begun
from gpulab.engines.local_engine import local_engine
from gpulab.engines.queue import forge_of, in_turn, supersede
from gpulab.errors import GpulabError
from gpulab.events import Event, PushEvent, Refusal, Submission, context_of, deletes, push_context, select
from gpulab.forges.local.outbox import take
from gpulab.forges.protocol import Status
from gpulab.home import Home


def deliver(home: Home, project: str, event: Event) -> str | Refusal:
    """Start what an event starts; the run's name, or why there is none. A replayed event starts nothing."""
    chosen = select(event, project)
    if isinstance(chosen, Refusal):
        _after_refusal(home, project, event, chosen)
        return chosen
    try:
        name = submit(home, project, chosen)
    except AlreadyExists:
        return _known_already(home, project, chosen)
    if isinstance(event, PushEvent) and chosen.pipeline == "push" and _head(home, event) == event.after:
        why = "a newer push came before it began; it counts for nothing. To judge it: gpulab run"
        supersede(home, project, event.ref, name, why)
    return name


def _head(home: Home, event: PushEvent) -> str | None:
    """The branch's commit now: an event that comes late must not end the run of a newer push."""
    return forge_of(home).head(event.ref.removeprefix("refs/heads/"))


def _after_refusal(home: Home, project: str, event: Event, refusal: Refusal) -> None:
    if not isinstance(event, PushEvent):
        return
    if deletes(event) and _head(home, event) is None:
        supersede(home, project, event.ref, "", "its branch was deleted before it began; it counts for nothing")
    context = push_context(event.ref)
    if refusal.tell and context not in forge_of(home).statuses(event.after):
        forge_of(home).set_status(event.after, Status(context, "error", refusal.reason[:140], ""))


def _known_already(home: Home, project: str, chosen: Submission) -> str | Refusal:
    """The commit was there before: a replay, or the branch was set back to it by force."""
    from gpulab.engines.reconciling import due_again

    again = due_again(home, project, chosen)
    if again:
        return submit(home, project, again)
    return Refusal(f"run {chosen.name} exists already: this commit was judged before. To judge it again: gpulab run")


def drain(home: Home, project: str) -> None:
    """Deliver the events that the steps of ended runs caused."""
    take(home, lambda event: deliver(home, project, event))


def after_run(settings: Mapping[str, str]) -> None:
    """What the engine calls when a run has ended."""
    drain(Home(Path(settings["home"])), settings["project"])


def submit(home: Home, project: str, submission: Submission) -> str:
    """Start a run of a rendered pipeline; its name. Its commit's status is pending from now on.

    Raises:
        AlreadyExists: the name was used.
    """
    folder = home.runs / submission.name
    if folder.is_dir() and begun(folder):
        raise AlreadyExists(f"the run {submission.name} exists already: gpulab watch {submission.name}")
    template = rendered(submission.pipeline)
    engine, revision, context = local_engine(home, project), submission.parameters["revision"], context_of(submission)
    forge_of(home).set_status(revision, Status(context, "pending", "queued", submission.name))
    try:
        turn = in_turn(template) if submission.pipeline == "push" else template
        engine.submit(submission.name, turn, submission.parameters)
    except AlreadyExists:
        raise
    except GpulabError as error:
        said = f"the platform could not start it: {error}"
        forge_of(home).set_status(revision, Status(context, "error", said[:140], submission.name))
        raise
    return submission.name


def start_again(home: Home, project: str, submission: Submission) -> str:
    """Start one more attempt, under the next free name (`…-2`, `…-3`)."""
    name = next_name(home, submission.name)
    return submit(home, project, Submission(submission.pipeline, name, submission.parameters))


def rendered(pipeline: str) -> dict[str, Any]:
    """A pipeline as it is rendered and committed."""
    text = files("gpulab").joinpath("rendered", f"{pipeline}.yaml").read_text(encoding="utf-8")
    document: dict[str, Any] = yaml.safe_load(text)
    return document
