"""What gpulab asks of a cluster."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Golden:
    """A request whose answer is known from the run that proved the release.

    Attributes:
        inputs: named inputs, nested lists, batch 1.
        outputs: the model's output for them, nested lists.
        rtol: the allowed relative L2 distance of the answer.
    """

    inputs: Mapping[str, Any]
    outputs: Sequence[Any]
    rtol: float


@dataclass(frozen=True)
class Smoke:
    """What the smoke request showed."""

    passed: bool
    message: str


class Cluster(Protocol):
    """One environment of one project."""

    def current(self) -> dict[str, Any] | None:
        """The release that runs now (`release.json`), None when nothing was ever released."""

    def apply(self, documents: Sequence[Document], release: dict[str, Any]) -> list[str]:
        """Apply the documents, prune what the last release had and this one lacks; one line per change."""

    def smoke(self, documents: Sequence[Document], golden: Golden) -> Smoke:
        """Wait until the release is ready and send it one request."""
