"""`release`: verdict, report, status, and on PASS the teaching release. It runs on every outcome."""

import os
import platform as machine
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from hera.workflows import Parameter
from hera.workflows.io import Output
from model_tests.report import render

from gpulab import __version__
from gpulab.events import TEACHING
from gpulab.forges.protocol import Forge, State, Status
from gpulab.platform import from_environment
from gpulab.rendering.overlays import render_overlay
from gpulab.steps.io import EventInput, stored
from gpulab.steps.notify import PUSH_CONTEXT
from gpulab.steps.outcome import say, truthful
from gpulab.steps.release_file import MANIFESTS, RELEASE, Release
from gpulab.steps.results import RunFacts, collect


class ReleaseInput(EventInput):
    """The commit, and what became of the steps before (Argo's phases)."""

    image_status: Annotated[str, Parameter(name="image-status")]
    tests_status: Annotated[str, Parameter(name="tests-status")]
    verify_status: Annotated[str, Parameter(name="verify-status")]


class ReleaseOutput(Output):
    """The record of the run and the report that a person reads."""

    results: Annotated[dict[str, Any] | None, stored("results", "results.json")] = None
    report: Annotated[str | None, stored("report", "report.html")] = None


@truthful
def release(inputs: ReleaseInput) -> ReleaseOutput:
    """Judge the run; ends red with the reason as its message unless the verdict is PASS."""
    platform = from_environment(os.environ)
    results = collect(Path(os.environ["GPULAB_RUN_DIR"]), RunFacts(**inputs.model_dump()))
    results |= {"engine": platform.name, "provenance": provenance()}
    report = render(results)  # before anything is released: what fails here is tried again as a whole
    message = results["summary"]
    if results["verdict"] == "PASS":
        message = f"{message}; {deliver(platform.forge, inputs, results)}"
    platform.forge.set_status(inputs.revision, Status(PUSH_CONTEXT, state(results), message[:140], inputs.run))
    code = 0 if results["verdict"] == "PASS" else say(message, 1)
    print(message, flush=True)
    return ReleaseOutput(results=results, report=report, exit_code=code)


def state(results: dict[str, Any]) -> State:
    """The commit status: a verdict on the code is `failure`, anything else that is no PASS is `error`."""
    if results["verdict"] == "PASS":
        return "success"
    return "failure" if results["verdict"] == "FAIL" else "error"


def provenance() -> dict[str, str]:
    """What judged, where and when."""
    return {
        "gpulab": __version__,
        "templates": f"push-v{__version__.replace('.', '-')}",
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "host": machine.platform(),
    }


def deliver(forge: Forge, inputs: ReleaseInput, results: dict[str, Any]) -> str:
    """Commit the teaching release, if this commit is still the newest; what happened, in words."""
    if inputs.ref != "refs/heads/main":
        return "not released: only main is"
    if forge.head("main") != inputs.revision:
        return "not released: main has a newer commit"
    image = results["image"]
    new = Release(
        project=inputs.project,
        environment="teaching",
        source=inputs.revision,
        repository=image["repository"],
        digest=image["digest"],
        run=inputs.run,
        accelerator=results["plan"]["accelerators"][0],
    )
    head = forge.head(TEACHING)
    if head is None or forge.read(head, RELEASE) != new.to_json():  # a second attempt finds its own release there
        commit_release(forge, new, TEACHING, head, f"Release {inputs.revision[:12]} to teaching")
    return f"released to teaching as {image['digest'][:19]}"


def commit_release(forge: Forge, new: Release, branch: str, parent: str | None, message: str) -> str:
    """Render the release's overlay from its source and commit it; the new commit."""
    with TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        forge.checkout(new.source, source)
        manifests = render_overlay(source, new.environment, new.repository, new.digest)
    files = {MANIFESTS: manifests.encode(), RELEASE: new.to_json()}
    return forge.commit(branch, files, f"{message}\n\nRun: {new.run}\nDigest: {new.digest}\n", parent)
