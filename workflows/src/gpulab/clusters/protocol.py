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
        """The last release that answered its smoke request, None when there is none."""

    def apply(self, documents: Sequence[Document]) -> list[str]:
        """Apply the documents, prune what was applied before and is not among them; one line per change."""

    def keep(self, release: dict[str, Any]) -> None:
        """Say that what is applied is this release, and that it works."""

    def smoke(self, documents: Sequence[Document], golden: Golden) -> Smoke:
        """Wait until the release is ready and send it one request."""
