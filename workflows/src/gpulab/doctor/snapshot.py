"""An installation as data: the objects that were found, without any Secret's value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from gpulab.tenants.settings import Platform

Object = Mapping[str, Any]


@dataclass(frozen=True)
class Question:
    """May this ServiceAccount do that? (A SubjectAccessReview.)

    Attributes:
        account: its name.
        namespace: where it is.
        verb, group, resource, subresource: what it wants; the group of `v1` is empty.
        of: the namespace in which it wants it; empty for the whole cluster.
    """

    account: str
    namespace: str
    verb: str
    group: str
    resource: str
    of: str = ""
    subresource: str = ""

    def __str__(self) -> str:
        """`x-ci/gpulab-pipeline: create pods in x-build`."""
        resource = "/".join(part for part in (self.resource, self.subresource) if part)
        return f"{self.namespace}/{self.account}: {self.verb} {resource} in {self.of or 'the whole cluster'}"


@dataclass(frozen=True)
class Snapshot:
    """What was found.

    Attributes:
        kubernetes: the API server's version, e.g. `v1.34.4`.
        objects: of the kinds that the checks look at; a Secret's `data` has its keys only.
        allowed: the answers to access questions.
        unreadable: what could not be read: path → why.
        platform: what `connect` would know; None when the settings are missing or incomplete.
    """

    kubernetes: str
    objects: Sequence[Object]
    allowed: Mapping[Question, bool] = field(default_factory=dict)
    unreadable: Mapping[str, str] = field(default_factory=dict)
    platform: Platform | None = None

    def all(self, kind: str, namespace: str = "") -> list[Object]:
        """The objects of a kind, of one namespace when it is named."""
        return [
            one
            for one in self.objects
            if one["kind"] == kind and (not namespace or one["metadata"].get("namespace") == namespace)
        ]

    @cached_property
    def _by_name(self) -> dict[tuple[str, str, str], Object]:
        """A course has tens of thousands of objects."""
        return {
            (one["kind"], one["metadata"].get("namespace") or "", one["metadata"]["name"]): one for one in self.objects
        }

    def find(self, kind: str, name: str, namespace: str = "") -> Object | None:
        """One object; without a namespace a cluster-wide one."""
        return self._by_name.get((kind, namespace, name))

    def data(self, name: str, namespace: str) -> dict[str, str]:
        """What a ConfigMap holds; nothing when there is none."""
        found = self.find("ConfigMap", name, namespace)
        return dict((found or {}).get("data") or {})

    def projects(self) -> list[str]:
        """The projects that are connected: whoever has a namespace for pipelines."""
        labels = [one["metadata"].get("labels") or {} for one in self.all("Namespace")]
        return sorted(one["gpulab/project"] for one in labels if one.get("gpulab/role") == "ci")
