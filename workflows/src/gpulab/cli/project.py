"""The project that a command was typed in, and where its pushes are judged: on this machine, or in a cluster."""

import tomllib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from gpulab.contract.finding import LAB
from gpulab.contract.lab import Lab
from gpulab.contract.read import read_lab
from gpulab.engines.protocol import Change, Phase
from gpulab.events import Submission
from gpulab.forges.local.git import Git
from gpulab.forges.protocol import Forge, Status
from gpulab.home import FOLDER, Home, find_project


class Project(Protocol):
    """A project's folder and its platform."""

    @property
    def root(self) -> Path:
        """The folder."""

    @property
    def slug(self) -> str:
        """The project's name for machines."""

    @property
    def remote(self) -> str:
        """The git remote that is pushed to."""

    @property
    def records(self) -> bool:
        """Whether what runs left behind can be read from here."""

    @property
    def lab(self) -> Lab:
        """The contract as it is now.

        Raises:
            ContractError: it cannot be read.
        """

    @property
    def git(self) -> Git:
        """The working tree."""

    @property
    def forge(self) -> Forge:
        """Where the project's branches and statuses are."""

    def prepare(self) -> str:
        """Make ready for a push whatever can be made ready from here, once or again; what comes next, in words."""

    def refuse(self, commit: str) -> None:
        """Refuse what its platform could not prove (InputError)."""

    def runs(self, prefix: str = "") -> list[str]:
        """The known runs, oldest first."""

    def knows(self, run: str) -> bool:
        """Whether there is such a run."""

    def attempts(self, due: Submission) -> list[str]:
        """The runs for one thing, oldest first."""

    def started(self, due: Submission) -> str:
        """The last run for something that an event starts; where none came, it is started or waited for."""

    def start_again(self, due: Submission) -> str:
        """One more run for the same thing."""

    def waits_for(self, run: str) -> list[str]:
        """The runs that must end before this one begins, as far as it is known."""

    def follow(self, run: str) -> Iterator[Change]:
        """Every change of phase from the beginning, until the run has ended."""

    def phase(self, run: str) -> Phase:
        """The phase of a run now."""

    def said(self, run: str) -> Status | None:
        """The commit status that a run set last."""

    def explain(self, run: str) -> str:
        """The engine's own word on how a run ended; empty when it has none."""

    def stop(self, run: str, why: str) -> None:
        """Stop a run, and close what it left open at the forge with these words."""

    def stored(self, run: str, file: str) -> Path:
        """Where a file that a run left under its prefix is; it may not be there."""

    def running(self, environment: str) -> dict[str, Any] | None:
        """The release that an environment runs: `source`, `digest` and `revision`; None when there is none."""

    def overlooked(self) -> list[str]:
        """What somebody should look at, in words."""

    def page(self, run: str) -> str:
        """Where a person can look at a run with a browser; empty when nowhere."""


def here() -> Project:
    """The project at or above the current folder; nothing is created.

    Raises:
        InputError: there is none, or its contract cannot be read.
    """
    root = find_project(Path.cwd())
    return project_at(root, read_lab(root).project.slug)


def connected() -> Project:
    """The same, ready for a push."""
    project = here()
    project.prepare()
    return project


def with_runs() -> Project:
    """The project here, which has been pushed at least once; its lab.toml may be broken or gone since.

    Raises:
        InputError: it was never pushed.
    """
    root = find_project(Path.cwd())
    if forge_kind(root) == "local":
        from gpulab.cli.local_project import pushed_project

        return pushed_project(root)
    return here()


def make_ready(root: Path) -> None:
    """Set up the local forge of a project; what another forge needs is its platform team's to set up."""
    if forge_kind(root) == "local":
        project_at(root, read_lab(root).project.slug).prepare()


def project_at(root: Path, slug: str) -> Project:
    """The project of a folder, with the platform that its contract names."""
    kind = forge_kind(root)
    if kind == "local":
        from gpulab.cli.local_project import LocalProject

        return LocalProject(root, slug, Home(root / FOLDER))
    from gpulab.cli.remote_access import remote_project

    return remote_project(root, slug, kind)


def forge_kind(root: Path) -> str:
    """`[delivery] forge` of a folder's contract; `local` when it cannot be read."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        return str(tomllib.loads((root / LAB).read_text(encoding="utf-8"))["delivery"]["forge"])
    return "local"
