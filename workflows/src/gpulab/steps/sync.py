"""`sync`: apply a release, wait for it, ask it the golden question, put the previous one back if it fails."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from hera.workflows import Parameter
from hera.workflows.io import Input, Output

from gpulab.clusters.protocol import Cluster, Document, Golden
from gpulab.forges.protocol import Forge, Status
from gpulab.platform import from_environment
from gpulab.rendering.documents import DocumentError, read_documents
from gpulab.rendering.released import released_problems
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
    record = read_record()
    proven = prove(platform.forge, inputs.revision, inputs.project, inputs.environment, record)
    documents, problems = allowed(proven)
    if problems:
        # the run may still be storing its record: exit code 3 looks again, and stays refused if it never comes
        code = 3 if record is None else 1
        return _end(platform.forge, inputs, proven, "failure", f"refused: {problems[0]}", code)
    return _end(platform.forge, inputs, proven, *_roll_out(platform.forge, cluster, inputs, proven, documents))


def allowed(proven: Proven) -> tuple[list[dict[str, Any]], list[str]]:
    """The documents of a release, and why they may not be applied; no problems when they may."""
    try:
        documents = read_documents(proven.manifests)
    except DocumentError as error:
        return [], [f"{MANIFESTS}: {error}"]
    image = f"{proven.release.repository}@{proven.release.digest}"
    found = released_problems(documents, image=image, told_as=MANIFESTS)
    return documents, [*proven.problems, *map(str, found)]


def _roll_out(
    forge: Forge, cluster: Cluster, inputs: SyncInput, proven: Proven, documents: Sequence[Document]
) -> tuple[str, str]:
    before = cluster.current()
    release = json.loads(proven.release.to_json()) | {"revision": inputs.revision}
    for change in cluster.apply(documents, release):
        print(change, flush=True)
    smoke = cluster.smoke(documents, read_golden())
    if smoke.passed:
        return "success", smoke.message
    returned = _put_back(forge, cluster, before)
    return "failure", f"{smoke.message}; {returned}"


def _put_back(forge: Forge, cluster: Cluster, before: dict[str, Any] | None) -> str:
    """Apply the previous release again, from its own commit."""
    if before is None:
        cluster.apply([], {})
        return "removed again: there was no release before"
    manifests = forge.read(before["revision"], MANIFESTS) or b""
    cluster.apply(read_documents(manifests.decode()), before)
    return f"commit {before['source'][:12]} is back"


def _end(forge: Forge, inputs: SyncInput, proven: Proven, state: Any, message: str, code: int = 1) -> Output:
    context = f"gpulab/sync-{inputs.environment}"
    for revision in (inputs.revision, proven.release.source):
        forge.set_status(revision, Status(context, state, message[:140], inputs.run))
    print(message, flush=True)
    return Output(exit_code=0 if state == "success" else say(message, code))


def read_record() -> dict[str, Any] | None:
    """The record of the claimed run, when the platform has one."""
    path = Path(os.environ["GPULAB_RECORD"])
    return json.loads(path.read_bytes()) if path.is_file() else None


def read_golden() -> Golden | None:
    """The golden question of the claimed run, when it left one."""
    path = Path(os.environ["GPULAB_GOLDEN"])
    if not path.is_file():
        return None
    document = json.loads(path.read_bytes())
    return Golden(document["inputs"], document["outputs"], float(document["rtol"]))
