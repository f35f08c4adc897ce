"""`verify-promotion`: the required check of a promotion pull request."""

import os
from typing import Annotated

from hera.workflows import Parameter
from hera.workflows.io import Input, Output

from gpulab.events import PRODUCTION, PROMOTION_CHECK
from gpulab.forges.protocol import Forge, State, Status
from gpulab.platform import from_environment
from gpulab.steps.outcome import say, truthful
from gpulab.steps.proof import prove
from gpulab.steps.release_file import Release
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
    problems = [*proven.problems, *against_forge(platform.forge, inputs.revision, proven.release)]
    if not platform.builder.has(proven.release.digest):
        problems.append(f"the image store does not hold {proven.release.digest}")
    message = problems[0] if problems else f"{proven.release.digest[:19]} passed in {proven.release.run}"
    state: State = "failure" if problems else "success"
    platform.forge.set_status(inputs.revision, Status(PROMOTION_CHECK, state, message[:140], inputs.run))
    return Output(exit_code=say(message, 1) if problems else 0)


def against_forge(forge: Forge, revision: str, release: Release) -> list[str]:
    """Is its source in main, and is it made for what production runs now?"""
    problems = []
    main, production = forge.head("main"), forge.head(PRODUCTION)
    if main is None or not forge.is_ancestor(release.source, main):
        problems.append(f"commit {release.source[:12]} is not in main")
    if production is not None and not forge.is_ancestor(production, revision):
        problems.append("production moved on since this pull request was made. Type `gpulab promote` again")
    return problems
