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
from gpulab.forges.local.connect import connect, working_tree
from gpulab.forges.local.git import Git
from gpulab.home import FOLDER, Home, find_project
from gpulab.platform import Platform, local_platform


@dataclass(frozen=True)
class Project:
    """A project folder with its contract and its local platform."""

    root: Path
    lab: Lab
    home: Home

    @property
    def slug(self) -> str:
        """The project's name for machines."""
        return self.lab.project.slug

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
    return Project(root, read_lab(root), Home(root / FOLDER))


def connected() -> Project:
    """The same, with its forge set up."""
    project = here()
    connect(project.root, project.slug)
    drain(project.home, project.slug)
    return project


def with_runs() -> Project:
    """The same, which has been pushed at least once.

    Raises:
        InputError: it has not.
    """
    project = here()
    if not project.home.runs.is_dir():
        raise InputError("nothing was pushed from here yet. Type `gpulab push`.")
    drain(project.home, project.slug)
    return project
