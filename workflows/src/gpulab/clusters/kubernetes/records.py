"""What is kept about an environment: ConfigMaps of the project's pipeline namespace, which a release cannot write."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gpulab.clusters.kubernetes import inventory
from gpulab.clusters.kubernetes.inventory import Identity
from gpulab.errors import PlatformError
from gpulab.kubernetes import Api, path_of


@dataclass(frozen=True)
class Records:
    """The records of one environment.

    Attributes:
        namespace: `<slug>-ci`.
    """

    api: Api
    namespace: str
    environment: str

    def inventory(self) -> list[Identity]:
        """What was applied.

        Raises:
            PlatformError: the record is damaged.
        """
        text = self._read("inventory")
        try:
            return inventory.load(text) if text else []
        except ValueError as error:
            raise self._damaged("inventory", error) from None

    def keep_inventory(self, identities: Iterable[Identity]) -> None:
        """Remember what is applied."""
        self._write("inventory", inventory.dump(identities))

    def release(self) -> dict[str, Any] | None:
        """The last release that worked.

        Raises:
            PlatformError: the record is damaged.
        """
        text = self._read("release")
        try:
            release: dict[str, Any] | None = json.loads(text) if text else None
        except ValueError as error:
            raise self._damaged("release", error) from None
        return release

    def keep_release(self, release: dict[str, Any]) -> None:
        """Remember it."""
        self._write("release", json.dumps(release, sort_keys=True))

    def _name(self, what: str) -> str:
        return f"gpulab-{what}-{self.environment}"

    def _path(self, what: str) -> str:
        return path_of("v1", "ConfigMap", self.namespace, self._name(what))

    def _read(self, what: str) -> str:
        found = self.api.get(self._path(what)) or {}
        return str((found.get("data") or {}).get(what, ""))

    def _write(self, what: str, text: str) -> None:
        labels = {"app.kubernetes.io/part-of": "gpulab", "gpulab/environment": self.environment}
        metadata = {"name": self._name(what), "namespace": self.namespace, "labels": labels}
        document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {what: text}}
        self.api.apply(self._path(what), document)

    def _damaged(self, what: str, error: Exception) -> PlatformError:
        where = f"ConfigMap {self.namespace}/{self._name(what)}"
        return PlatformError(f"{where}, key {what}: cannot be read ({error}). Put its last good content back.")
