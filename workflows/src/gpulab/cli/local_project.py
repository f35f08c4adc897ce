"""A project whose platform is this machine: forge, engine, image store and clusters in `.gpulab/`."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpulab.cli.provable import refuse_unprovable
from gpulab.clusters.local import LocalCluster
from gpulab.contract.lab import Lab
from gpulab.contract.read import read_lab
from gpulab.engines.attempts import runs_named
from gpulab.engines.dispatch import deliver, drain, start_again
from gpulab.engines.errors import AlreadyExists
from gpulab.engines.local.client import LocalEngine
from gpulab.engines.local_engine import local_engine
from gpulab.engines.protocol import Change, Phase
from gpulab.engines.queue import ahead, stop
from gpulab.engines.reconciling import facts
from gpulab.errors import InputError, PlatformError
from gpulab.events import Submission
from gpulab.forges.local import LocalForge
from gpulab.forges.local.connect import REMOTE, connect, connected_slug, working_tree
from gpulab.forges.local.git import Git
from gpulab.forges.local.outbox import aside
from gpulab.forges.protocol import Status
from gpulab.home import FOLDER, Home
from gpulab.reconcile import missed

SYNCED = ("source", "digest", "revision")
"""What a sync writes down of a release, as far as it is read here."""


@dataclass(frozen=True)
class LocalProject:
    """See `Project`; `home` is `.gpulab/`."""

    root: Path
    slug: str
    home: Home
    remote: str = REMOTE

    @property
    def records(self) -> bool:
        """They are files."""
        return True

    @property
    def lab(self) -> Lab:
        """See `Project.lab`."""
        return read_lab(self.root)

    @property
    def git(self) -> Git:
        """See `Project.git`."""
        return working_tree(self.root)

    @property
    def forge(self) -> LocalForge:
        """See `Project.forge`; its events start runs."""
        return LocalForge(self.home, lambda event: deliver(self.home, self.slug, event))

    @property
    def engine(self) -> LocalEngine:
        """The local engine."""
        return local_engine(self.home, self.slug)

    def prepare(self) -> str:
        """See `Project.prepare`: the bare repository, its hooks, the remote."""
        connect(self.root, self.slug)
        drain(self.home, self.slug)
        return (
            f"{self.slug} is connected: the remote `{REMOTE}` is the forge in {FOLDER}/\n"
            f"Next: git push {REMOTE} main, or gpulab push"
        )

    def refuse(self, commit: str) -> None:
        """See `Project.refuse`: a run on another kind of device would end INCONCLUSIVE, after minutes."""
        refuse_unprovable(self.git, commit)

    def runs(self, prefix: str = "") -> list[str]:
        """See `Project.runs`."""
        folders = [one for one in self.home.runs.glob(f"{prefix}*") if one.is_dir()]
        return [one.name for one in sorted(folders, key=started_at)]

    def knows(self, run: str) -> bool:
        """See `Project.knows`."""
        return run in self.runs()

    def attempts(self, due: Submission) -> list[str]:
        """See `Project.attempts`."""
        return runs_named(self.home, due.name)

    def started(self, due: Submission) -> str:
        """See `Project.started`; it is started here when the hook could not."""
        drain(self.home, self.slug)
        if not self.attempts(due):
            with suppress(AlreadyExists):  # the hook was faster
                return self.start_again(due)
        return self.attempts(due)[-1]

    def start_again(self, due: Submission) -> str:
        """See `Project.start_again`."""
        return start_again(self.home, self.slug, due)

    def waits_for(self, run: str) -> list[str]:
        """See `Project.waits_for`: this machine judges one push at a time."""
        return ahead(self.home, self.slug, run)

    def follow(self, run: str) -> Iterator[Change]:
        """See `Project.follow`."""
        return self.engine.follow(run)

    def phase(self, run: str) -> Phase:
        """See `Project.phase`."""
        return self.engine.results(run).phase

    def said(self, run: str) -> Status | None:
        """See `Project.said`."""
        said = [one for file in self.home.statuses.glob("*.json") for one in self.forge.statuses(file.stem).values()]
        return next((one for one in said if one.run == run), None)

    def explain(self, run: str) -> str:
        """See `Project.explain`."""
        return self.engine.results(run).message

    def stop(self, run: str, why: str) -> None:
        """See `Project.stop`."""
        stop(self.home, self.slug, run, why)

    def stored(self, run: str, file: str) -> Path:
        """See `Project.stored`."""
        return self.engine.artifact(f"{self.slug}/{run}/{file}")

    def running(self, environment: str) -> dict[str, Any] | None:
        """See `Project.running`: as its cluster has it.

        Raises:
            PlatformError: naming the file, when it is not what a sync writes.
        """
        release = LocalCluster(self.home, environment).current()
        fine = isinstance(release, Mapping) and all(isinstance(release.get(key), str) for key in SYNCED)
        if release is not None and not fine:
            path = self.home.cluster(environment) / "release.json"
            again = f"Move it away, then: gpulab run deploy/{environment}"
            raise PlatformError(f"{path} is not what a sync writes ({', '.join(SYNCED)}). {again}")
        return release

    def overlooked(self) -> list[str]:
        """See `Project.overlooked`."""
        lost = [
            f"event {name} could not be delivered: {why}. To try again: gpulab reconcile"
            for name, why in aside(self.home).items()
        ]
        count = len(missed(facts(self.home, self.slug)))
        if count:
            lost.append(f"{count} missed. To see and mend: gpulab reconcile --dry-run, then gpulab reconcile")
        return lost

    def page(self, run: str) -> str:
        """See `Project.page`: `gpulab report` shows it."""
        return ""


def pushed_project(root: Path) -> LocalProject:
    """The project of a folder that was pushed at least once; its contract may be broken since.

    Raises:
        InputError: it was never pushed.
    """
    home = Home(root / FOLDER)
    project = LocalProject(root, connected_slug(home) or read_lab(root).project.slug, home)
    if not (home.runs.is_dir() or home.repository.is_dir()):
        raise InputError("nothing was pushed from here yet. Type `gpulab push`.")
    drain(home, project.slug)
    return project


def started_at(folder: Path) -> float:
    """When a run was submitted: its workflow is written once."""
    file = folder / "workflow.yaml"
    return file.stat().st_mtime if file.is_file() else 0.0
