"""The Workflows of one namespace through the Kubernetes API: listed, and started from a template in the cluster.

The pod's own service account asks (`list` and `create` on `workflows` in its namespace): no other address, certificate
or token is needed than those that every pod has.
"""

import base64
import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from gpulab.kubernetes import Api, path_of

Json = dict[str, Any]
API_VERSION, KIND = "argoproj.io/v1alpha1", "Workflow"
TITLE = "workflows.argoproj.io/title"


def referring(name: str, template: str, parameters: Mapping[str, str]) -> Json:
    """A Workflow that is a ClusterWorkflowTemplate with these parameters, and nothing else.

    `templateReferencing: Secure` lets no more through.
    """
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {
            "name": name,
            "labels": {"app.kubernetes.io/part-of": "gpulab"},
            "annotations": {TITLE: title(parameters)},
        },
        "spec": {
            "workflowTemplateRef": {"name": template, "clusterScope": True},
            "arguments": {"parameters": [{"name": key, "value": value} for key, value in parameters.items()]},
        },
    }


def title(parameters: Mapping[str, str]) -> str:
    """What Argo's list of runs shows: branch or environment, and the commit."""
    where = parameters.get("environment") or parameters.get("ref", "").removeprefix("refs/heads/")
    return " ".join(filter(None, (where, parameters.get("revision", "")[:12])))


def nodes_of(status: Mapping[str, Any]) -> dict[str, Json]:
    """The nodes of a status by id, unpacked when the controller compressed them; none when it keeps them elsewhere."""
    packed = status.get("compressedNodes")
    if packed:
        unpacked: dict[str, Json] = json.loads(gzip.decompress(base64.b64decode(packed)))
        return unpacked
    return dict(status.get("nodes") or {})


class Workflows(Protocol):
    """What reconciling needs of a namespace."""

    def all(self) -> list[Json]:
        """Every Workflow as the API gives it."""

    def start(self, name: str, template: str, parameters: Mapping[str, str]) -> None:
        """Create one; one of that name is this very one, since names are derived from what they are for."""


@dataclass(frozen=True)
class KubernetesWorkflows:
    """The Workflows of a namespace, asked as whoever `api` logs in as."""

    api: Api
    namespace: str

    def all(self) -> list[Json]:
        """See `Workflows.all`."""
        return self.api.list(path_of(API_VERSION, KIND, self.namespace))

    def start(self, name: str, template: str, parameters: Mapping[str, str]) -> None:
        """See `Workflows.start`."""
        self.api.create(path_of(API_VERSION, KIND, self.namespace), referring(name, template, parameters))
