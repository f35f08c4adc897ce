"""What gpulab asks of a cluster."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gpulab.errors import InputError

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


class RefusedError(InputError):
    """The cluster does not take a document of the release; nothing of the platform is broken."""


@dataclass(frozen=True)
class Smoke:
    """What the smoke request showed.

    Attributes:
        passed: the golden request was answered as proven.
        message: in words.
        trouble: nothing was asked because of the platform: no image, no node.
    """

    passed: bool
    message: str
    trouble: bool = False


class Cluster(Protocol):
    """One environment of one project."""

    def current(self) -> dict[str, Any] | None:
        """The last release that answered its smoke request, None when there is none."""

    def apply(self, documents: Sequence[Document]) -> list[str]:
        """Apply the documents, prune what was applied before and is not among them; one line per change.

        Raises:
            RefusedError: one of them cannot be applied; `apply` of the release before puts things right.
        """

    def keep(self, release: dict[str, Any]) -> None:
        """Say that what is applied is this release, and that it works."""

    def smoke(self, documents: Sequence[Document], golden: Golden) -> Smoke:
        """Wait until the release is ready and send it one request."""
