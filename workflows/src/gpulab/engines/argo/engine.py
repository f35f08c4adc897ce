"""Argo Server as its users see it: submit, follow, cancel, results. Queueing, pods and retries are Argo's and Kueue's.

See https://argo-workflows.readthedocs.io/en/latest/rest-api/.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import httpx

from gpulab.clusters.workflows import referring
from gpulab.engines.argo import events, paths
from gpulab.engines.argo.server import Conflict, NotFound, Server
from gpulab.engines.argo.settings import ArgoSettings
from gpulab.engines.argo.status import below, run_status
from gpulab.engines.changes import changes
from gpulab.engines.errors import AlreadyExists, RunNotFound
from gpulab.engines.protocol import Change, Phase, RunStatus, run_name
from gpulab.errors import InputError, PlatformError

POLL_SECONDS = 2.0


class ArgoEngine:
    """The runs of one namespace."""

    def __init__(
        self,
        settings: ArgoSettings,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self.settings = settings
        self._sleep = sleep
        self._server = Server(settings, transport, sleep)

    def submit(self, name: str, template: Mapping[str, Any], parameters: Mapping[str, str]) -> None:
        """Create a Workflow that refers to the template, which is in the cluster (see `Engine.submit`)."""
        body = {"workflow": referring(run_name(name), template["metadata"]["name"], parameters)}
        try:
            self._server.ask("POST", paths.workflows(self.settings.namespace), body=body)
        except Conflict:
            raise AlreadyExists(f"the run {name} exists already: gpulab watch {name}") from None

    def follow(self, name: str) -> Iterator[Change]:
        """Every change of phase (see `Engine.follow`): by the server's stream, by asking again where it breaks."""
        seen: dict[str, Phase] = {}
        while True:
            run = self.results(name)
            yield from changes(run, seen)
            if run.phase.fulfilled:
                return
            for run in self._told(name):
                yield from changes(run, seen)
                if run.phase.fulfilled:
                    return
            self._sleep(POLL_SECONDS)

    def _told(self, name: str) -> Iterator[RunStatus]:
        """What the stream says, until it breaks."""
        where = paths.events(self.settings.namespace)
        try:
            with self._server.lines(where, paths.only(name)) as lines:
                for workflow in events.workflows(lines):
                    if workflow["metadata"]["name"] == name:
                        yield run_status(workflow)
        except PlatformError:  # asked anew by the caller, whose question tells what is wrong
            return

    def cancel(self, name: str) -> None:
        """Terminate a run; one that has ended stays as it is (see `Engine.cancel`)."""
        if self.results(name).phase.fulfilled:
            return
        self._server.ask("PUT", paths.terminate(self.settings.namespace, name), body={})

    def results(self, name: str) -> RunStatus:
        """The status as it is now.

        Raises:
            RunNotFound: there is none of that name, or it was cleared away.
        """
        try:
            return run_status(self._server.ask("GET", paths.workflow(self.settings.namespace, run_name(name))))
        except NotFound:
            raise RunNotFound(f"the cluster has no run {name}: never started, or cleared away since") from None

    def runs(self) -> list[RunStatus]:
        """Every run of the namespace without its nodes, oldest first."""
        fields = ",".join(f"items.{one}" for one in ("metadata.name", "metadata.creationTimestamp", "status.phase"))
        answer = self._server.ask("GET", paths.workflows(self.settings.namespace), {"fields": fields})
        return sorted(map(run_status, answer.get("items") or []), key=lambda run: (run.started_at, run.name))

    def artifact(self, key: str) -> Path:
        """Download the artifact of a key, or all below it, from the run that its second part names.

        Keys are `<project>/<run>/…`; what no node of the run stored is not there (see `Engine.artifact`).
        """
        parts = PurePosixPath(key).parts
        place = self.settings.cache.joinpath(*parts)
        if len(parts) < 2 or ".." in parts or key.startswith("/"):
            raise InputError(f"{key!r} is no key of a run's artifact: <project>/<run>/<file>")
        try:
            found = below(self.results(parts[1]), "/".join(parts))
        except RunNotFound:
            return place
        for one in found:
            where = paths.artifact(self.settings.namespace, parts[1], one.node, one.name)
            self._fetch(where, self.settings.cache.joinpath(*PurePosixPath(one.key).parts))
        return place

    def _fetch(self, where: str, to: Path) -> None:
        try:
            self._server.download(where, to)
        except NotFound:
            to.unlink(missing_ok=True)

    def page(self, name: str) -> str:
        """Where a person looks at a run."""
        return paths.page(self.settings.url, self.settings.namespace, name)
