"""What the `image` step decides: is the contract kept, and which image stands for this commit?"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model_tests.verdict import Gate, Verdict

from gpulab.checking import check_project
from gpulab.contract.baselines import rows
from gpulab.contract.finding import ContractError, Finding, errors_of
from gpulab.contract.lab import Lab
from gpulab.contract.plan import make_plan
from gpulab.contract.read import read_lab
from gpulab.contract.repository import facts_of
from gpulab.forges.protocol import Forge
from gpulab.images.protocol import BuildFailedError, BuildRequest, BuiltImage, ImageBuilder
from gpulab.steps.baselines import find_baselines
from gpulab.steps.gates import gate

SCHEMA = "gpulab/image/v1"


@dataclass(frozen=True)
class Prepared:
    """The outcome of planning and building.

    Attributes:
        record: `image.json`: gates, the project, the image (None when refused), exit code.
        plan: `plan.json`; None when refused.
        message: the refusal in one line; empty when there was none.
        baselines: a tar with the sources that the commit's speed is compared with; None when there are none.
    """

    record: dict[str, Any]
    plan: dict[str, Any] | None
    message: str
    baselines: bytes | None = None


def prepare(source: Path, revision: str, run: str, builder: ImageBuilder, forge: Forge) -> Prepared:
    """Check the contract of a commit's tree, plan its run, build its image.

    Args:
        source: the tree.
        run: the run that wants it.

    Raises:
        PlatformError: the image could not be built or stored, or the forge not read.
    """
    try:
        paths = sorted(path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file())
        problems = errors_of(check_project(source, paths))
        if problems:
            raise ContractError(problems)
        lab = read_lab(source)
        baselines = find_baselines(forge, revision, lab, source)
        plan = make_plan(lab, facts_of(source), revision) | {"baselines": rows(baselines.found)}
    except ContractError as error:
        return refused(error.problems)
    kept = gate("contract", Verdict.PASS, "contract.kept", "lab.toml")
    try:
        built = builder.build(BuildRequest(source, revision, lab.delivery.image, plan["lane"], run))
    except BuildFailedError as error:
        return Prepared(_record([kept, _failed(error)], lab, None, error.exit_code), plan, f"image: {error}")
    gates = [kept, gate("image", Verdict.PASS, "image.built", f"{built.kind} {built.digest}")]
    return Prepared(_record(gates, lab, _image(built, plan["lane"]), 0), plan, "", baselines.archive)


def _failed(error: BuildFailedError) -> Gate:
    return gate("image", Verdict.FAIL, "image.failed", "\n".join([str(error), *error.lines]), 1, "failed builds")


def refused(problems: Sequence[Finding]) -> Prepared:
    """A commit whose contract is broken: nothing is built."""
    lines = [str(problem) for problem in problems]
    refusal = gate("contract", Verdict.FAIL, "contract.refused", "\n".join(lines), len(lines), "problems")
    return Prepared(_record([refusal], None, None, 2), None, lines[0])


def _record(gates: list[Gate], lab: Lab | None, image: dict[str, str] | None, exit_code: int) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "gates": [gate.to_dict() for gate in gates],
        "project": lab.project.model_dump() if lab else None,
        "image": image,
        "exit_code": exit_code,
    }


def _image(built: BuiltImage, lane: str) -> dict[str, str]:
    """The image and what it rests on: a lane's image may be another than usual, where GPUs are simulated."""
    return {
        "reference": built.reference,
        "repository": built.repository,
        "digest": built.digest,
        "kind": built.kind,
        "lane": lane,
        "base": built.base,
    }
