"""The project that a command was typed in."""

from dataclasses import dataclass
from pathlib import Path

from gpulab.contract.lab import Lab
from gpulab.contract.read import read_lab
from gpulab.engines.dispatch import drain
from gpulab.engines.local.client import LocalEngine
from gpulab.engines.local_engine import local_engine
from gpulab.errors import InputError
from gpulab.events import Event
from gpulab.forges.local.connect import connect, connected_slug, working_tree
from gpulab.forges.local.git import Git
from gpulab.home import FOLDER, Home, find_project
from gpulab.platform import Platform, local_platform


@dataclass(frozen=True)
class Project:
    """A project folder and its local platform; `slug` is the project's name for machines."""

    root: Path
    slug: str
    home: Home

    @property
    def lab(self) -> Lab:
        """The contract as it is now.

        Raises:
            ContractError: it cannot be read.
        """
        return read_lab(self.root)

    @property
    def git(self) -> Git:
        """The project's working tree."""
        return working_tree(self.root)

    @property
    def platform(self) -> Platform:
        """Forge, image store and clusters in `.gpulab/`."""
        return local_platform(self.home, self._deliver)

    def stored(self, run: str, file: str) -> Path:
        """Where a file that a run left under its prefix is; it may not be there."""
        return self.engine.artifact(f"{self.slug}/{run}/{file}")

    def _deliver(self, event: Event) -> object:
        from gpulab.engines.dispatch import deliver

        return deliver(self.home, self.slug, event)

    @property
    def engine(self) -> LocalEngine:
        """The local engine."""
        return local_engine(self.home, self.slug)


def here() -> Project:
    """The project at or above the current folder; nothing is created.

    Raises:
        InputError: there is none, or its contract cannot be read.
    """
    root = find_project(Path.cwd())
    return Project(root, read_lab(root).project.slug, Home(root / FOLDER))


def connected() -> Project:
    """The same, with its forge set up."""
    project = here()
    connect(project.root, project.slug)
    drain(project.home, project.slug)
    return project


def with_runs() -> Project:
    """The project here, which has been pushed at least once; its lab.toml may be broken or gone since.

    Raises:
        InputError: it was never pushed.
    """
    root = find_project(Path.cwd())
    home = Home(root / FOLDER)
    slug = connected_slug(home) or read_lab(root).project.slug
    project = Project(root, slug, home)
    if not (project.home.runs.is_dir() or project.home.repository.is_dir()):
        raise InputError("nothing was pushed from here yet. Type `gpulab push`.")
    drain(project.home, project.slug)
    return project
