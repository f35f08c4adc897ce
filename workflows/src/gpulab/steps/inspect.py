"""`inspect`: read what a commit of a deploy branch claims to be."""

import os
from typing import Annotated

from hera.workflows.io import Input, Output

from gpulab.platform import from_environment
from gpulab.steps.io import output
from gpulab.steps.outcome import truthful
from gpulab.steps.release_file import RELEASE, read_release


class InspectInput(Input):
    """A commit of a deploy branch, or the head of a pull request to one."""

    project: str
    revision: str


class InspectOutput(Output):
    """The run that the release says proved it, and whose golden answer to use."""

    claimed_run: Annotated[str, output("claimed-run")]
    claimed_accelerator: Annotated[str, output("claimed-accelerator")]


@truthful
def inspect(inputs: InspectInput) -> InspectOutput:
    """Read `release.json`; a malformed one ends here with exit code 2."""
    forge = from_environment(os.environ).forge
    release = read_release(forge.read(inputs.revision, RELEASE), inputs.revision[:12])
    return InspectOutput(claimed_run=release.run, claimed_accelerator=release.accelerator)
