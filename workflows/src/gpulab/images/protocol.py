"""What gpulab asks of whoever builds images."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class BuiltImage:
    """An image that exists.

    Attributes:
        repository: its name without tag or digest.
        digest: `sha256:` and 64 hexadecimal digits, of the manifest.
        kind: `image`, or `source artifact` for one without base layers.
    """

    repository: str
    digest: str
    kind: str

    @property
    def reference(self) -> str:
        """The name that a pod pulls: `repository@digest`."""
        return f"{self.repository}@{self.digest}"


class ImageBuilder(Protocol):
    """Builds the image of a commit and keeps it."""

    def build(self, source: Path, repository: str) -> BuiltImage:
        """Build from the tree of a commit; the same tree gives the same digest."""

    def has(self, digest: str) -> bool:
        """Whether the image with this digest can still be pulled."""
