"""`Cluster` on Kubernetes: applies, prunes, waits and asks, with the rights of the pipeline's ServiceAccount."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpulab.clusters.kubernetes.inventory import Identity, identity, in_order, to_prune
from gpulab.clusters.kubernetes.records import Records
from gpulab.clusters.kubernetes.rollout import Rollout, late, rollout
from gpulab.clusters.kubernetes.services import address
from gpulab.clusters.protocol import Document, Golden, RefusedError, Smoke
from gpulab.clusters.smoke import ask, wait_until_ready
from gpulab.kubernetes import Api, ApiError, path_of

ROLLOUT_SECONDS = 600
"""Kubernetes' default `progressDeadlineSeconds`; within the step's own deadline."""

POLL_SECONDS = 1.0
READY_SECONDS, ANSWER_SECONDS = 30, 60
LOG_LINES = 5
NOT_VALID = (400, 422)
"""Answers that say the document is at fault: malformed, or an immutable field was changed."""


@dataclass(frozen=True)
class KubernetesCluster:
    """One environment of one project; see `Cluster`.

    Attributes:
        namespace: where the release runs.
        records: what is remembered about it, in another namespace.
        clock: seconds that only grow.
        pause: waits some seconds.
    """

    api: Api
    namespace: str
    records: Records
    clock: Callable[[], float] = time.monotonic
    pause: Callable[[float], object] = time.sleep

    def current(self) -> dict[str, Any] | None:
        """See `Cluster.current`."""
        return self.records.release()

    def keep(self, release: dict[str, Any]) -> None:
        """See `Cluster.keep`."""
        self.records.keep_release(release)

    def apply(self, documents: Sequence[Document]) -> list[str]:
        """See `Cluster.apply`."""
        placed = [self._placed(one) for one in documents]
        wanted, before = [identity(one) for one in placed], self.records.inventory()
        self.records.keep_inventory([*before, *wanted])
        changes = [self._apply(one) for one in in_order(placed)]
        for gone in to_prune(before, wanted):
            if self.api.delete(self._path(gone)):
                changes.append(f"{gone} pruned")
        self.records.keep_inventory(wanted)
        return changes

    def smoke(self, documents: Sequence[Document], golden: Golden) -> Smoke:
        """See `Cluster.smoke`; asked through the Service's own name, as another pod would."""
        deployment = next((one for one in documents if one["kind"] == "Deployment"), None)
        base = address(documents, deployment, self.namespace) if deployment else None
        if deployment is None or base is None:
            return Smoke(False, "the release has no Deployment with a Service: there is nothing to ask")
        found = self._wait(deployment["metadata"]["name"])
        if found.state != "done":
            return Smoke(False, found.message + self._last_words(found), trouble=found.state == "trouble")
        ready = wait_until_ready(base, lambda: True, READY_SECONDS)
        return ask(base, golden, ANSWER_SECONDS) if ready.passed else ready

    def _placed(self, document: Document) -> dict[str, Any]:
        """The document with its namespace, which can only be this environment's."""
        metadata = dict(document.get("metadata") or {})
        if metadata.setdefault("namespace", self.namespace) != self.namespace:
            raise RefusedError(f"{document.get('kind')} is for namespace {metadata['namespace']}, not {self.namespace}")
        try:
            identity(document)
        except ValueError as error:
            raise RefusedError(str(error)) from None
        return {**document, "metadata": metadata}

    def _apply(self, document: Mapping[str, Any]) -> str:
        one = identity(document)
        try:
            self.api.apply(self._path(one), document)
        except ApiError as error:
            if error.status in NOT_VALID:
                raise RefusedError(f"{one}: the cluster refuses it: {error.message}") from None
            raise
        return f"{one} applied"

    def _path(self, one: Identity) -> str:
        return path_of(one.api_version, one.kind, self.namespace, one.name)

    def _wait(self, name: str) -> Rollout:
        path, end = path_of("apps/v1", "Deployment", self.namespace, name), self.clock() + ROLLOUT_SECONDS
        while True:
            deployment = self.api.get(path)
            if deployment is None:
                return Rollout("trouble", f"Deployment {name} was deleted by somebody else")
            pods = self._pods(deployment)
            if self.clock() >= end:
                return late(deployment, pods)
            found = rollout(deployment, pods)
            if found.state != "waiting":
                return found
            self.pause(POLL_SECONDS)

    def _pods(self, deployment: Mapping[str, Any]) -> list[dict[str, Any]]:
        labels = deployment["spec"]["selector"].get("matchLabels") or {}
        selector = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
        return self.api.list(path_of("v1", "Pod", self.namespace), labelSelector=selector)

    def _last_words(self, found: Rollout) -> str:
        """The last log lines of the container that is at fault; of the one before, when it was started again."""
        if not found.container:
            return ""
        path = f"{path_of('v1', 'Pod', self.namespace, found.pod)}/log"
        for previous in ("true", "false"):
            told = self.api.text(path, container=found.container, tailLines=str(LOG_LINES), previous=previous)
            if lines := [line.strip() for line in told.splitlines() if line.strip()]:
                return f": {lines[-1][:200]}"
        return ""
