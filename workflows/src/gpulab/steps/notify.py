"""`notify`: the exit handlers' step. What did not succeed must not stay pending at the forge."""

import os

from hera.workflows.io import Input, Output

from gpulab.errors import InputError
from gpulab.events import PROMOTION_CHECK, push_context, sync_context
from gpulab.forges.protocol import Status
from gpulab.platform import from_environment
from gpulab.steps.io import EventInput
from gpulab.steps.outcome import truthful
from gpulab.steps.release_file import RELEASE, read_release

UNFINISHED = "the platform could not finish; this counts against nobody. Type `gpulab run` to try again"


class SyncTarget(Input):
    """A commit of a deploy branch."""

    project: str
    revision: str
    environment: str
    run: str


class PromotionHead(Input):
    """The head of a promotion pull request."""

    project: str
    revision: str
    run: str


@truthful
def notify(inputs: EventInput) -> Output:
    """Close the status of a push that no verdict closed."""
    return _close(inputs.revision, push_context(inputs.ref), inputs.run)


@truthful
def notify_sync(inputs: SyncTarget) -> Output:
    """Close the status of a sync that ended before it said why."""
    return _close_release(inputs.revision, sync_context(inputs.environment), inputs.run)


@truthful
def notify_promotion(inputs: PromotionHead) -> Output:
    """Close the check of a promotion that ended before it said why."""
    return _close_release(inputs.revision, PROMOTION_CHECK, inputs.run)


def _close(revision: str, context: str, run: str) -> Output:
    return _say(Status(context, "error", UNFINISHED, run), revision)


def _close_release(revision: str, context: str, run: str) -> Output:
    """A release that cannot be read ended its run before a verdict: that is a refusal, no trouble."""
    forge = from_environment(os.environ).forge
    try:
        read_release(forge.read(revision, RELEASE), revision[:12])
    except InputError as error:
        return _say(Status(context, "failure", f"refused: {error}"[:140], run), revision)
    return _close(revision, context, run)


def _say(status: Status, revision: str) -> Output:
    forge = from_environment(os.environ).forge
    said = forge.statuses(revision).get(status.context)
    if said is None or (said.state == "pending" and said.run == status.run):
        forge.set_status(revision, status)
    return Output()
