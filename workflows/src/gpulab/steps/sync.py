"""`sync`: apply a release, wait for it, ask it the golden question, put the previous one back if it fails."""

import json
import os
from pathlib import Path
from typing import Annotated, Any

from hera.workflows import Parameter
from hera.workflows.io import Input, Output

from gpulab.clusters.protocol import Cluster, Golden, RefusedError, Smoke
from gpulab.errors import PlatformError, one_line
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
        said = f"not applied: overtaken by {newest[:12] if newest else 'a deletion'}"
        status = Status(sync_context(inputs.environment), "error", said, inputs.run)
        platform.forge.set_status(inputs.revision, status)
        print(said, flush=True)
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
    return _end(platform.forge, inputs, proven, *roll_out(platform.forge, cluster, inputs, proven, golden))


def roll_out(forge: Forge, cluster: Cluster, inputs: SyncInput, proven: Proven, golden: Golden) -> tuple[State, str]:
    """Apply a release and keep it if it works, else put the one before back; what to tell the forge."""
    before = cluster.current()
    smoke = _tried(cluster, proven, golden)
    if smoke.passed:
        cluster.keep(json.loads(proven.release.to_json()) | {"revision": inputs.revision})
        return "success", smoke.message
    returned = _put_back(forge, cluster, before)
    return "error" if smoke.trouble else "failure", f"{smoke.message}; {returned}"


def _tried(cluster: Cluster, proven: Proven, golden: Golden) -> Smoke:
    """Apply, wait, ask."""
    try:
        for change in cluster.apply(proven.documents):
            print(change, flush=True)
    except RefusedError as error:
        return Smoke(False, str(error))
    return cluster.smoke(proven.documents, golden)


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
        forge.set_status(revision, Status(context, state, one_line(message, 140), inputs.run))
    print(message, flush=True)
    if state == "success":
        return Output()
    return Output(exit_code=say(message, PlatformError.exit_code if state == "error" else code))


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
