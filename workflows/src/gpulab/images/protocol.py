"""What gpulab asks of whoever builds images."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gpulab.errors import GpulabError


@dataclass(frozen=True)
class BuildRequest:
    """What is to be built.

    Attributes:
        source: the commit's tree, in a folder.
        revision: the commit, 40 hexadecimal digits.
        repository: the image's name in `lab.toml`, without tag or digest.
        lane: the project's lane, a name of `lanes.toml`.
        run: the run that wants it.
    """

    source: Path
    revision: str
    repository: str
    lane: str
    run: str


@dataclass(frozen=True)
class BuiltImage:
    """An image that exists.

    Attributes:
        repository: its name without tag or digest; the platform's, which may differ from the requested one.
        digest: `sha256:` and 64 hexadecimal digits, of the manifest.
        kind: `image`, or `source artifact` for one without base layers.
        base: the lane's image by digest that it was built with; empty for a source artifact.
    """

    repository: str
    digest: str
    kind: str
    base: str = ""

    @property
    def reference(self) -> str:
        """The name that a pod pulls: `repository@digest`."""
        return f"{self.repository}@{self.digest}"


class BuildFailedError(GpulabError):
    """The project's own Dockerfile, requirements or sources do not build: a verdict, and no use in trying again.

    Attributes:
        lines: the end of the build's log.
    """

    exit_code = 1

    def __init__(self, reason: str, lines: Sequence[str] = ()) -> None:
        self.lines = list(lines)
        super().__init__(reason)


class ImageBuilder(Protocol):
    """Builds the image of a commit and keeps it."""

    def build(self, request: BuildRequest) -> BuiltImage:
        """Build a commit; the same request gives the same digest.

        Raises:
            BuildFailedError: the commit does not build.
            PlatformError: nobody knows whether it does.
        """

    def has(self, digest: str) -> bool:
        """Whether the image with this digest can still be pulled."""
