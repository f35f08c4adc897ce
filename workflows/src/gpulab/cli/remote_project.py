"""A project whose pushes are judged in a cluster: the forge's webhook starts runs, its commit statuses tell of them.

With Argo's address and token set, runs are followed step by step and their files can be read; without, a run is what
its commit status says.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from gpulab.cli.remote_runs import about
from gpulab.cli.spoken import SHOWN, Spoken, pauses
from gpulab.contract.lab import Lab
from gpulab.contract.read import read_lab
from gpulab.engines.argo.engine import ArgoEngine
from gpulab.engines.errors import RunNotFound
from gpulab.engines.protocol import Change, Phase
from gpulab.errors import InputError, PlatformError
from gpulab.events import Submission, attempt, sync_context
from gpulab.forges.local.connect import working_tree
from gpulab.forges.local.git import Git
from gpulab.forges.protocol import Forge, Status
from gpulab.pipelines.settings import Settings
from gpulab.steps.release_file import RELEASE, read_release

PATIENCE = 600.0
"""Seconds until a run must have begun: the cluster itself looks for lost events every five minutes."""

NEEDS_ARGO = "needs GPULAB_ARGO_URL and GPULAB_ARGO_TOKEN (your course or platform team has both)"


@dataclass(frozen=True)
class RemoteProject:
    """See `Project`.

    Attributes:
        open_forge: called once, when the forge is asked for the first time; so is `open_engine`.
        link: the page of a run (and its commit) in a browser.
    """

    root: Path
    slug: str
    remote: str
    open_forge: Callable[[], Forge]
    open_engine: Callable[[], ArgoEngine | None]
    link: Callable[[str, str], str]
    sleep: Callable[[float], object] = time.sleep

    @cached_property
    def forge(self) -> Forge:
        """See `Project.forge`."""
        return self.open_forge()

    @cached_property
    def engine(self) -> ArgoEngine | None:
        """Argo's server; None when it is not set."""
        return self.open_engine()

    @cached_property
    def spoken(self) -> Spoken:
        """What commit statuses tell."""
        return Spoken(self.forge, self.git, self.sleep)

    def argo(self, what: str) -> ArgoEngine:
        """The engine, for something that cannot be done without.

        Raises:
            InputError: it is not set.
        """
        if self.engine is None:
            raise InputError(f"{what} {NEEDS_ARGO}")
        return self.engine

    @property
    def records(self) -> bool:
        """Argo's server gives them."""
        return self.engine is not None

    @property
    def lab(self) -> Lab:
        """See `Project.lab`."""
        return read_lab(self.root)

    @property
    def git(self) -> Git:
        """See `Project.git`."""
        return working_tree(self.root)

    def prepare(self) -> str:
        """See `Project.prepare`: the forge is set up once per project, by somebody with rights on both sides."""
        return (
            f"{self.slug} is pushed to its forge, the remote `{self.remote}`. What a cluster needs to judge its pushes "
            "is set up once, by its platform team: gpulab project connect\nNext: gpulab push"
        )

    def refuse(self, commit: str) -> None:
        """See `Project.refuse`: a forge that cannot be asked; of the model the cluster's first step finds out."""
        self.forge.head("main")

    def runs(self, prefix: str = "") -> list[str]:
        """See `Project.runs`; without Argo the newest."""
        known = self.spoken.runs() if self.engine is None else (run.name for run in self.engine.runs())
        return [name for name in known if name.startswith(prefix) and about(name)]

    def knows(self, run: str) -> bool:
        """See `Project.knows`."""
        if self.engine is None:
            return self.spoken.said(run) is not None
        try:
            self.engine.results(run)
        except RunNotFound:
            return False
        return True

    def attempts(self, due: Submission) -> list[str]:
        """See `Project.attempts`."""
        if self.engine is None:
            return self.spoken.attempts(due)
        found = [(attempt(run.name, due.name), run.name) for run in self.engine.runs()]
        return [name for number, name in sorted(found) if number]

    def started(self, due: Submission) -> str:
        """See `Project.started`: the forge's webhook starts it, so it is waited for.

        Raises:
            PlatformError: it did not begin; the cluster may still find it.
        """
        for _ in pauses(self.sleep, PATIENCE):
            found = self.attempts(due)
            if found:
                return found[-1]
        raise PlatformError(
            f"no run of {due.parameters['revision'][:12]} began within {PATIENCE / 60:.0f} minutes. Is the project "
            "connected (gpulab project connect)? Look again: gpulab status"
        )

    def start_again(self, due: Submission) -> str:
        """See `Project.start_again`."""
        engine = self.argo("starting a run from here")
        known = self.attempts(due)
        name = f"{due.name}-{attempt(known[-1], due.name) + 1}" if known else due.name
        engine.submit(name, {"metadata": {"name": Settings().template_name(due.pipeline)}}, due.parameters)
        return name

    def waits_for(self, run: str) -> list[str]:
        """See `Project.waits_for`: the cluster's queue does not tell."""
        return []

    def follow(self, run: str) -> Iterator[Change]:
        """See `Project.follow`: by Argo's events, or by what the commit's status says."""
        return self.engine.follow(run) if self.engine is not None else self.spoken.follow(run)

    def phase(self, run: str) -> Phase:
        """See `Project.phase`."""
        return self.engine.results(run).phase if self.engine is not None else self.spoken.phase(run)

    def said(self, run: str) -> Status | None:
        """See `Project.said`."""
        return self.spoken.said(run)

    def explain(self, run: str) -> str:
        """See `Project.explain`."""
        return self.engine.results(run).message if self.engine is not None else ""

    def stop(self, run: str, why: str) -> None:
        """See `Project.stop`; where this token may not set a status, the cluster closes it within minutes."""
        self.argo("stopping a run").cancel(run)
        revision, said = self.spoken.commit(run), self.said(run)
        if revision and said is not None and said.state == "pending":
            with suppress(PlatformError):
                self.forge.set_status(revision, Status(said.context, "error", why, run))

    def stored(self, run: str, file: str) -> Path:
        """See `Project.stored`; it is downloaded."""
        return self.argo(f"reading {file} of a run").artifact(f"{self.slug}/{run}/{file}")

    def running(self, environment: str) -> dict[str, Any] | None:
        """See `Project.running`: the newest release that answered."""
        for commit in islice(self.forge.history(f"deploy/{environment}"), SHOWN):
            said = self.forge.statuses(commit).get(sync_context(environment))
            if said is not None and said.state == "success":
                release = read_release(self.forge.read(commit, RELEASE), commit[:12])
                return {"source": release.source, "digest": release.digest, "revision": commit}
        return None

    def overlooked(self) -> list[str]:
        """See `Project.overlooked`: the cluster looks after itself."""
        return []

    def page(self, run: str) -> str:
        """See `Project.page`."""
        return self.link(run, self.spoken.commit(run) or "")
