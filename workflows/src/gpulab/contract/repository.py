"""The facts about a repository's files that the plan needs: read once, then only data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpulab.contract.finding import Finding
from gpulab.contract.requirements.lines import Line, read_requirements
from gpulab.contract.requirements.python import read_python

DOCKERFILE = "Dockerfile"


@dataclass(frozen=True)
class RepositoryFacts:
    """What a commit (or a working tree) holds.

    Attributes:
        dockerfile: its text; None when there is none.
        has_tests: whether `tests/` has a `test_*.py`.
        has_requirements: whether there is a requirements.txt.
        requirements: its lines, with those of the files that it includes.
        python: file -> the Python that it asks for.
        trouble: what is wrong with the files themselves.
    """

    dockerfile: str | None
    has_tests: bool
    has_requirements: bool = True
    requirements: tuple[Line, ...] = ()
    python: Mapping[str, str] = field(default_factory=dict)
    trouble: tuple[Finding, ...] = ()


def facts_of(root: Path) -> RepositoryFacts:
    """The facts of a project folder."""
    lines, trouble = read_requirements(root)
    return RepositoryFacts(
        dockerfile=read_dockerfile(root),
        has_tests=any(path.is_file() for path in (root / "tests").rglob("test_*.py")),
        has_requirements=(root / "requirements.txt").is_file(),
        requirements=tuple(lines),
        python=read_python(root),
        trouble=tuple(trouble),
    )


def read_dockerfile(root: Path) -> str | None:
    """The Dockerfile's text; None when there is none or it cannot be read."""
    try:
        return (root / DOCKERFILE).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
