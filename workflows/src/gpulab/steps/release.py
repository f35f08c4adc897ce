"""`release`: verdict, report, status, and on PASS the teaching release. It runs on every outcome."""

import os
import platform as machine
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from hera.workflows import Parameter
from hera.workflows.io import Output
from model_tests.report import render

from gpulab import __version__
from gpulab.errors import one_line
from gpulab.events import MAIN, TEACHING, push_context
from gpulab.forges.protocol import Forge, State, Status
from gpulab.platform import from_environment
from gpulab.steps.io import RUN_PREFIX, EventInput, stored
from gpulab.steps.outcome import say, truthful
from gpulab.steps.release_commit import commit_release
from gpulab.steps.release_file import RELEASE, Release
from gpulab.steps.results import RunFacts, collect


class ReleaseInput(EventInput):
    """The commit, and what became of the steps before (Argo's phases)."""

    image_status: Annotated[str, Parameter(name="image-status")]
    tests_status: Annotated[str, Parameter(name="tests-status")]
    verify_status: Annotated[str, Parameter(name="verify-status")]


class ReleaseOutput(Output):
    """The record of the run and the report that a person reads."""

    results: Annotated[dict[str, Any] | None, stored("results", "results.json", RUN_PREFIX)] = None
    report: Annotated[str | None, stored("report", "report.html", RUN_PREFIX)] = None


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
    said = Status(push_context(inputs.ref), state(results), one_line(message, 140), inputs.run)
    platform.forge.set_status(inputs.revision, said)
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
    if inputs.ref != MAIN:
        return "checked, not released: only main is released"
    head = forge.head("main")
    if head != inputs.revision:
        return f"not released: main is at {head[:12]} now" if head else "not released: main was deleted"
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
