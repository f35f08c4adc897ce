"""The cluster's side of `connect`: settings and secrets that are there, objects applied and removed."""

import base64
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gpulab import __version__
from gpulab.errors import InputError, PlatformError
from gpulab.kubernetes import Api, path_of
from gpulab.tenants.objects import MANAGED_BY, PROJECT, Json, labels_of
from gpulab.tenants.project import ROLES, Tenant
from gpulab.tenants.settings import PLATFORM, PLATFORM_NAMESPACE, Address, Platform, complete

TOKEN_SECONDS = 30.0
GONE_SECONDS = 300.0
"""A namespace is gone when its pods are; a release has 30 s to end its requests."""


@dataclass(frozen=True)
class Cluster:
    """A cluster that gpulab is installed on, as its administrator sees it."""

    api: Api
    sleep: Callable[[float], object] = time.sleep
    clock: Callable[[], float] = time.monotonic

    def platform(self) -> Platform:
        """What the platform's maintainer set, and what the cluster knows.

        Raises:
            PlatformError: the platform is not installed, or something is not set.
        """
        found = self.api.get(path_of("v1", "ConfigMap", PLATFORM_NAMESPACE, PLATFORM))
        if found is None:
            where = f"ConfigMap {PLATFORM_NAMESPACE}/{PLATFORM}"
            raise PlatformError(f"{where} is not there. Install the platform first: kubectl apply -k gitops/overlays/…")
        queues = self.api.get("/apis/kueue.x-k8s.io/v1beta2") is not None
        return Platform(complete(found.get("data") or {}), self._api_servers(), queues, __version__)

    def _api_servers(self) -> tuple[Address, ...]:
        """The servers themselves, and the address that pods know them by."""
        service = self.api.get(path_of("v1", "Service", "default", "kubernetes")) or {}
        spec = service.get("spec", {})
        found = {Address(ip, port["port"]) for ip in spec.get("clusterIPs", []) for port in spec.get("ports", [])}
        slices = path_of("discovery.k8s.io/v1", "EndpointSlice", "default")
        for one in self.api.list(slices, labelSelector="kubernetes.io/service-name=kubernetes"):
            addresses = [address for endpoint in one.get("endpoints") or [] for address in endpoint["addresses"]]
            found |= {Address(ip, port["port"]) for ip in addresses for port in one.get("ports") or []}
        return tuple(sorted(found, key=lambda one: (one.ip, one.port)))

    def secret(self, namespace: str, name: str) -> dict[str, str]:
        """A Secret's values; none when it is not there."""
        found = self.api.get(path_of("v1", "Secret", namespace, name)) or {}
        return {key: base64.b64decode(value).decode() for key, value in (found.get("data") or {}).items()}

    def account_token(self, namespace: str, account: str) -> str:
        """The token of a ServiceAccount, which the cluster writes into its Secret a moment after that was made.

        Raises:
            PlatformError: it did not come.
        """
        name = f"{account}.service-account-token"
        end = self.clock() + TOKEN_SECONDS
        while not (found := self.secret(namespace, name).get("token", "")):
            if self.clock() > end:
                raise PlatformError(f"Secret {namespace}/{name} got no token. Type the same command again.")
            self.sleep(0.5)
        return found

    def of_platform(self, name: str, slug: str) -> dict[str, str]:
        """A key that the platform's maintainer put beside the settings: a project's own, else the common one."""
        return self.secret(PLATFORM_NAMESPACE, f"{name}-{slug}") or self.secret(PLATFORM_NAMESPACE, name)

    def apply(self, documents: Iterable[Json]) -> None:
        """Server-side apply, in their order."""
        for document in documents:
            self.api.apply(path(document), document)

    def claim(self, tenant: Tenant) -> None:
        """Whether the namespaces are this project's, or nobody's yet.

        Raises:
            InputError: they are not.
        """
        wanted = labels_of(tenant, "")
        for role in ROLES:
            name = tenant.namespace(role)
            labels = ((self.api.get(_namespace(name)) or {}).get("metadata") or {}).get("labels")
            if labels is not None and any(labels.get(key) != wanted[key] for key in (PROJECT, MANAGED_BY)):
                raise InputError(f"namespace {name} is there and is not gpulab's. Choose another project.slug.")
        settings = self.api.get(path_of("v1", "ConfigMap", tenant.namespace("ci"), "gpulab")) or {}
        repository = (settings.get("data") or {}).get("GPULAB_FORGE_REPOSITORY", tenant.repository)
        if repository != tenant.repository:
            raise InputError(f"{tenant.slug} is the project of {repository}. Choose another project.slug.")

    def remove(self, tenant: Tenant) -> list[str]:
        """Delete a project's namespaces and wait until they are gone; what was done, in words.

        Raises:
            PlatformError: one does not end.
        """
        names = [tenant.namespace(role) for role in ROLES]
        there = [name for name in names if self.api.delete(_namespace(name))]
        self._wait_until_gone(there)
        return [f"namespace {name}: {'removed' if name in there else 'was not there'}" for name in names]

    def _wait_until_gone(self, names: Iterable[str]) -> None:
        ends = self.clock() + GONE_SECONDS
        while left := [name for name in names if self.api.get(_namespace(name))]:
            if self.clock() > ends:
                raise PlatformError(f"namespace {left[0]} does not end: kubectl describe namespace {left[0]} says why")
            self.sleep(2.0)

    def remove_events(self, namespace: str) -> str:
        """Start no more runs in a namespace."""
        for kind in ("CronWorkflow", "WorkflowEventBinding"):
            collection = path_of("argoproj.io/v1alpha1", kind, namespace)
            for one in self.api.list(collection, labelSelector="app.kubernetes.io/part-of=gpulab"):
                self.api.delete(f"{collection}/{one['metadata']['name']}")
        return f"event bindings and schedule in {namespace}: removed"


def path(document: Mapping[str, Any]) -> str:
    """Where an object lives; a Namespace lives in none."""
    metadata = document["metadata"]
    if document["kind"] == "Namespace":
        return _namespace(metadata["name"])
    return path_of(document["apiVersion"], document["kind"], metadata["namespace"], metadata["name"])


def _namespace(name: str) -> str:
    return f"/api/v1/namespaces/{name}"
