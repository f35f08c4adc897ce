"""Where the local engine, forge, image store and clusters keep their files: `.gpulab/` in the project."""

from dataclasses import dataclass
from pathlib import Path

from gpulab.errors import InputError

FOLDER = ".gpulab"


@dataclass(frozen=True)
class Home:
    """The folders of one project's local platform; nothing is created by asking for a path."""

    root: Path

    @property
    def repository(self) -> Path:
        """The local forge's bare repository, the remote `lab`."""
        return self.root / "forge.git"

    @property
    def environment(self) -> Path:
        """A link to the Python environment that the project was connected with."""
        return self.root / "environment"

    @property
    def statuses(self) -> Path:
        """Commit statuses, one JSON file per commit."""
        return self.root / "statuses"

    @property
    def pulls(self) -> Path:
        """Pull requests, one JSON file per number."""
        return self.root / "pulls"

    @property
    def runs(self) -> Path:
        """The engine's run folders."""
        return self.root / "runs"

    @property
    def artifacts(self) -> Path:
        """The artifact store: a file per key."""
        return self.root / "artifacts"

    @property
    def events(self) -> Path:
        """Events that wait for delivery."""
        return self.root / "events"

    @property
    def images(self) -> Path:
        """The image store: one OCI layout."""
        return self.root / "images"

    def unpacked(self, digest: str) -> Path:
        """Where an image's files are laid out."""
        return self.root / "unpacked" / digest.removeprefix("sha256:")

    def cluster(self, environment: str) -> Path:
        """What was applied to an environment, and which release it is."""
        return self.root / "clusters" / environment


def find_project(start: Path) -> Path:
    """The nearest folder at or above `start` that holds a `lab.toml`, or was pushed from.

    Raises:
        InputError: there is none.
    """
    for folder in (start, *start.parents):
        if (folder / "lab.toml").is_file() or Home(folder / FOLDER).repository.is_dir():
            return folder
    raise InputError(
        f"no lab.toml in {start} or above: this is no gpulab project. Type `cd` into yours, or `gpulab new`."
    )
