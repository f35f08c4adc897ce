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
from gpulab.images.protocol import BuiltImage, ImageBuilder
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


def prepare(source: Path, revision: str, builder: ImageBuilder, forge: Forge) -> Prepared:
    """Check the contract of a commit's tree, plan its run, build its image.

    Raises:
        PlatformError: the image could not be built or stored, or the forge not read.
    """
    try:
        paths = sorted(path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file())
        refused = errors_of(check_project(source, paths))
        if refused:
            raise ContractError(refused)
        lab = read_lab(source)
        baselines = find_baselines(forge, revision, lab, source)
        plan = make_plan(lab, facts_of(source), revision) | {"baselines": rows(baselines.found)}
    except ContractError as error:
        return _refused(error.problems)
    built = builder.build(source, lab.delivery.image)
    gates = [
        gate("contract", Verdict.PASS, "contract.kept", "lab.toml"),
        gate("image", Verdict.PASS, "image.built", f"{built.kind} {built.digest}"),
    ]
    return Prepared(_record(gates, lab, built, 0), plan, "", baselines.archive)


def _refused(problems: Sequence[Finding]) -> Prepared:
    lines = [str(problem) for problem in problems]
    refusal = gate("contract", Verdict.FAIL, "contract.refused", "\n".join(lines), len(lines), "problems")
    return Prepared(_record([refusal], None, None, 2), None, lines[0])


def _record(gates: list[Gate], lab: Lab | None, built: BuiltImage | None, exit_code: int) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "gates": [gate.to_dict() for gate in gates],
        "project": lab.project.model_dump() if lab else None,
        "image": _image(built) if built else None,
        "exit_code": exit_code,
    }


def _image(built: BuiltImage) -> dict[str, str]:
    return {
        "reference": built.reference,
        "repository": built.repository,
        "digest": built.digest,
        "kind": built.kind,
    }
