"""`verify-promotion`: the required check of a promotion pull request."""

import os
from typing import Annotated

from hera.workflows import Parameter
from hera.workflows.io import Input, Output

from gpulab.events import PROMOTION_CHECK
from gpulab.forges.protocol import State, Status
from gpulab.platform import from_environment
from gpulab.steps.outcome import say, truthful
from gpulab.steps.proof import prove
from gpulab.steps.sync import read_record


class PromotionInput(Input):
    """The head commit of a pull request to `deploy/production`."""

    project: str
    revision: str
    run: str
    claimed_run: Annotated[str, Parameter(name="claimed-run")]
    claimed_accelerator: Annotated[str, Parameter(name="claimed-accelerator")]


@truthful
def verify_promotion(inputs: PromotionInput) -> Output:
    """Set the check: the digest exists and passed, and the manifests are the rendering of that commit, nothing else."""
    platform = from_environment(os.environ)
    proven = prove(platform.forge, inputs.revision, inputs.project, "production", read_record())
    problems = list(proven.problems)
    head = platform.forge.head("main")
    if head is None or not platform.forge.is_ancestor(proven.release.source, head):
        problems.append(f"commit {proven.release.source[:12]} is not in main")
    message = problems[0] if problems else f"{proven.release.digest[:19]} passed in {proven.release.run}"
    state: State = "failure" if problems else "success"
    platform.forge.set_status(inputs.revision, Status(PROMOTION_CHECK, state, message[:140], inputs.run))
    return Output(exit_code=say(message, 1) if problems else 0)
