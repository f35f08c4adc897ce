"""What a rule of the Dockerfile lint is."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gpulab.contract.dockerfile.syntax import Dockerfile
from gpulab.contract.finding import Finding, Level
from gpulab.contract.repository import DOCKERFILE


@dataclass(frozen=True)
class Hit:
    """Where a rule is broken, and what to type."""

    line: int
    message: str
    hint: str


@dataclass(frozen=True)
class Rule:
    """A small pure function with a name that can be quoted."""

    name: str
    level: Level
    check: Callable[[Dockerfile], Iterator[Hit]]

    def findings(self, dockerfile: Dockerfile) -> Iterator[Finding]:
        """Each hit in words."""
        for hit in self.check(dockerfile):
            yield Finding(self.level, DOCKERFILE, f"line {hit.line} [{self.name}]", hit.message, hit.hint)
