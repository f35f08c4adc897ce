"""One process of the cluster, as data."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

Program = Callable[[str], Path]


@dataclass(frozen=True)
class Ready:
    """How a part is asked: an URL that must answer below 400, a socket that accepts, or a node that is Ready."""

    kind: str  # "url", "socket" or "node"
    where: str


@dataclass(frozen=True)
class Part:
    """One process."""

    name: str
    line: list[str]
    ready: Ready
    configs: tuple[Path, ...] = ()  # a change in one of these starts the part again
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Changes when the part must be started again."""
        texts = [path.read_text() for path in self.configs if path.exists()]
        return hashlib.sha256(repr((self.line, texts, self.environment)).encode()).hexdigest()[:16]
