"""A cluster that is a folder: a file per applied object, an inventory, and the release that runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from gpulab.clusters.protocol import Document, Golden, Smoke
from gpulab.clusters.service import started
from gpulab.clusters.smoke import ask, wait_until_ready
from gpulab.files import locked, read_json, write_json, write_text
from gpulab.home import Home

READY_SECONDS = 90
ANSWER_SECONDS = 60


@dataclass(frozen=True)
class LocalCluster:
    """One environment; see `Cluster`."""

    home: Home
    environment: str

    @property
    def folder(self) -> Path:
        """Where this environment's objects lie."""
        return self.home.cluster(self.environment)

    def current(self) -> dict[str, Any] | None:
        """See `Cluster.current`."""
        release: dict[str, Any] | None = read_json(self.folder / "release.json")
        return release

    def apply(self, documents: Sequence[Document]) -> list[str]:
        """See `Cluster.apply`."""
        with locked(self.folder):
            objects = self.folder / "objects"
            objects.mkdir(parents=True, exist_ok=True)
            wanted = {_file_name(one): yaml.safe_dump(dict(one), sort_keys=True) for one in documents}
            changes = [f"{name} pruned" for name in self._prune(objects, set(wanted))]
            for name, text in sorted(wanted.items()):
                changes.append(f"{name} {_write(objects / f'{name}.yaml', text)}")
        return changes

    def keep(self, release: dict[str, Any]) -> None:
        """See `Cluster.keep`."""
        with locked(self.folder):
            write_json(self.folder / "release.json", release)

    def _prune(self, objects: Path, wanted: set[str]) -> list[str]:
        gone = sorted({file.stem for file in objects.glob("*.yaml")} - wanted)
        for name in gone:
            (objects / f"{name}.yaml").unlink()
        return gone

    def smoke(self, documents: Sequence[Document], golden: Golden) -> Smoke:
        """See `Cluster.smoke`; the service is really started, asked and stopped."""
        deployment = next((one for one in documents if one["kind"] == "Deployment"), None)
        if deployment is None:
            return Smoke(False, "the release has no Deployment: there is nothing to ask")
        with started(deployment, self.home) as service:
            ready = wait_until_ready(service.base, service.alive, READY_SECONDS)
            if not ready.passed:
                return Smoke(False, ready.message + _tail(service.log))
            return ask(service.base, golden, ANSWER_SECONDS)


def _file_name(document: Document) -> str:
    metadata = document["metadata"]
    return f"{metadata.get('namespace', 'default')}.{document['kind']}.{metadata['name']}"


def _write(path: Path, text: str) -> str:
    before = path.read_text(encoding="utf-8") if path.is_file() else None
    write_text(path, text)
    return "created" if before is None else "unchanged" if before == text else "configured"


def _tail(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return f": {lines[-1][:200]}" if lines else ""
