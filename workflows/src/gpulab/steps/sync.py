"""`sync`: apply a release, wait for it, ask it the golden question, put the previous one back if it fails."""

import json
import os
from pathlib import Path
from typing import Annotated, Any

from hera.workflows import Parameter
from hera.workflows.io import Input, Output

from gpulab.clusters.protocol import Cluster, Golden
from gpulab.errors import PlatformError
from gpulab.events import sync_context
from gpulab.files import read_json, readable
from gpulab.forges.protocol import Forge, State, Status
from gpulab.platform import from_environment
from gpulab.rendering.documents import read_documents
from gpulab.steps.outcome import say, truthful
from gpulab.steps.proof import Proven, prove
from gpulab.steps.release_file import MANIFESTS


class SyncInput(Input):
    """A commit of `deploy/<environment>`."""

    project: str
    revision: str
    environment: str
    run: str
    claimed_run: Annotated[str, Parameter(name="claimed-run")]
    claimed_accelerator: Annotated[str, Parameter(name="claimed-accelerator")]


@truthful
def sync(inputs: SyncInput) -> Output:
    """Make one environment run one release; exit code 1 when it was refused or returned."""
    platform = from_environment(os.environ)
    cluster = platform.cluster(inputs.environment)
    newest = platform.forge.head(f"deploy/{inputs.environment}")
    if newest != inputs.revision:
        print(f"not applied: {inputs.environment} has a newer release, {newest}", flush=True)
        return Output()
    record, golden = read_record(), read_golden()
    proven = prove(platform.forge, inputs.revision, inputs.project, inputs.environment, record)
    if proven.problems:
        # the run may still be storing its record: exit code 3 looks again, and stays refused if it never comes
        code = 3 if record is None else 1
        return _end(platform.forge, inputs, proven, "failure", f"refused: {proven.problems[0]}", code)
    if golden is None:
        return _end(
            platform.forge, inputs, proven, "failure", f"refused: run {proven.release.run} left no golden answer"
        )
    return _end(platform.forge, inputs, proven, *_roll_out(platform.forge, cluster, inputs, proven, golden))


def _roll_out(forge: Forge, cluster: Cluster, inputs: SyncInput, proven: Proven, golden: Golden) -> tuple[State, str]:
    before = cluster.current()
    release = json.loads(proven.release.to_json()) | {"revision": inputs.revision}
    for change in cluster.apply(proven.documents):
        print(change, flush=True)
    smoke = cluster.smoke(proven.documents, golden)
    if smoke.passed:
        cluster.keep(release)
        return "success", smoke.message
    returned = _put_back(forge, cluster, before)
    return "failure", f"{smoke.message}; {returned}"


def _put_back(forge: Forge, cluster: Cluster, before: dict[str, Any] | None) -> str:
    """Apply the previous release again, from its own commit."""
    if before is None:
        cluster.apply([])
        return "removed again: there was no release before"
    manifests = forge.read(before["revision"], MANIFESTS)
    if manifests is None:
        raise PlatformError(f"commit {before['revision']} cannot be read, so the release before cannot be put back")
    cluster.apply(read_documents(manifests.decode()))
    return f"commit {before['source'][:12]} is back"


def _end(forge: Forge, inputs: SyncInput, proven: Proven, state: State, message: str, code: int = 1) -> Output:
    context = sync_context(inputs.environment)
    # a refused claim says nothing about the commit that it names
    for revision in (inputs.revision, *(() if proven.problems else (proven.release.source,))):
        forge.set_status(revision, Status(context, state, message[:140], inputs.run))
    print(message, flush=True)
    return Output(exit_code=0 if state == "success" else say(message, code))


def read_record() -> Any:
    """The record of the claimed run, when the platform has one.

    Raises:
        PlatformError: it is damaged.
    """
    return read_json(Path(os.environ["GPULAB_RECORD"]))


def read_golden() -> Golden | None:
    """The golden question of the claimed run, when it left one.

    Raises:
        PlatformError: it is damaged.
    """
    path = Path(os.environ["GPULAB_GOLDEN"])
    document = read_json(path)
    if document is None:
        return None
    with readable(path):
        return Golden(document["inputs"], document["outputs"], float(document["rtol"]))
