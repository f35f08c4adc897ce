"""`notify`: the exit handlers' step. What did not succeed must not stay pending at the forge."""

import os

from hera.workflows.io import Input, Output

from gpulab.events import PROMOTION_CHECK, sync_context
from gpulab.forges.protocol import Status
from gpulab.platform import from_environment
from gpulab.steps.io import EventInput
from gpulab.steps.outcome import truthful

PUSH_CONTEXT = "gpulab/push"


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
    return _close(inputs.revision, PUSH_CONTEXT, inputs.run)


@truthful
def notify_sync(inputs: SyncTarget) -> Output:
    """Close the status of a sync that ended before it said why."""
    return _close(inputs.revision, sync_context(inputs.environment), inputs.run)


@truthful
def notify_promotion(inputs: PromotionHead) -> Output:
    """Close the check of a promotion that ended before it said why."""
    return _close(inputs.revision, PROMOTION_CHECK, inputs.run)


def _close(revision: str, context: str, run: str) -> Output:
    forge = from_environment(os.environ).forge
    said = forge.statuses(revision).get(context)
    if said is None or (said.state == "pending" and said.run == run):
        message = "the platform could not finish; this counts against nobody. Type `gpulab run` to try again"
        forge.set_status(revision, Status(context, "error", message, run))
    return Output()
