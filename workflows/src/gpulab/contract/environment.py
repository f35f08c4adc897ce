"""What a project's files ask of its image, against the lane that it builds on."""

from collections.abc import Iterator

from gpulab.contract.dockerfile.base_images import last_lane
from gpulab.contract.dockerfile.syntax import parse
from gpulab.contract.finding import Finding
from gpulab.contract.repository import DOCKERFILE, RepositoryFacts
from gpulab.contract.requirements import REQUIREMENTS, conflicts, python_conflicts


def environment_findings(facts: RepositoryFacts) -> Iterator[Finding]:
    """Files that are missing, and packages or a Python that contradict the lane.

    An image of the project's own (by digest) has a PyTorch of its own: nothing is known of it, nothing is said.
    """
    yield from facts.trouble
    yield from _missing(facts)
    lane = last_lane(parse(facts.dockerfile)) if facts.dockerfile else None
    if lane is not None:
        yield from conflicts(facts.requirements, lane)
        yield from python_conflicts(facts.python, lane)


def _missing(facts: RepositoryFacts) -> Iterator[Finding]:
    if not facts.has_tests:
        message = "there is no tests/test_*.py, so that the gate tests has nothing to run"
        yield Finding("error", "tests", "", message, "Type: git checkout -- tests, or write tests/test_model.py.")
    if not facts.has_requirements and facts.dockerfile and REQUIREMENTS in facts.dockerfile:
        hint = f"Type: git checkout -- {REQUIREMENTS}, or make an empty file of that name."
        yield Finding("error", REQUIREMENTS, "", f"missing, {DOCKERFILE} installs from it", hint)
