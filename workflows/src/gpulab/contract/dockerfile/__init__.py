"""Lint of a project's Dockerfile: a table of small rules, each with a name, a line and what to type.

The build is what costs minutes and is seen last; most broken Dockerfiles can be told by reading them.
"""

from collections.abc import Iterable

from gpulab.contract.dockerfile import base_images, run_lines, settings
from gpulab.contract.dockerfile.rule import Rule
from gpulab.contract.dockerfile.syntax import parse
from gpulab.contract.finding import Finding
from gpulab.contract.lanes import common_lane
from gpulab.contract.repository import DOCKERFILE
from gpulab.contract.words import one_of

__all__ = ["RULES", "lint"]

RULES: tuple[Rule, ...] = (*base_images.RULES, *run_lines.RULES, *settings.RULES)


def lint(text: str | None, accelerators: Iterable[str] = ()) -> list[Finding]:
    """What is wrong with a Dockerfile, by line.

    Args:
        text: its text; None when there is no such file.
        accelerators: names of the catalogue that its image is to run on.

    Raises:
        KeyError: an accelerator that is not in the catalogue.
    """
    if text is None:
        return [
            Finding(
                "error", DOCKERFILE, "", "missing", "Type: git checkout -- Dockerfile, or gpulab new for a fresh one."
            )
        ]
    dockerfile, names = parse(text), tuple(accelerators)
    lane = common_lane(names) if names else None
    mismatch = Rule("lane-mismatch", "error", lambda parsed: base_images.lane_mismatch(parsed, lane, one_of(names)))
    cuda = Rule("cuda-compat", "error", lambda parsed: base_images.cuda_mismatch(parsed, names))
    found = [finding for rule in (*RULES, mismatch, cuda) for finding in rule.findings(dockerfile)]
    return sorted(found, key=lambda finding: int(finding.where.split()[1]))
