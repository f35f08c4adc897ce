"""Which kinds a release may hold, and how each document is named and placed."""

import re
from collections import Counter
from collections.abc import Iterator

from gpulab.contract.finding import Finding
from gpulab.contract.words import one_of, shown
from gpulab.rendering.release_rules.release import Release, at, mapping, name_of, who

KINDS = {
    "Deployment": "apps/v1",
    "Service": "v1",
    "ConfigMap": "v1",
    "ServiceAccount": "v1",
    "NetworkPolicy": "networking.k8s.io/v1",
    "HorizontalPodAutoscaler": "autoscaling/v2",
    "PodDisruptionBudget": "policy/v1",
}
"""What serves a model and stays inside its namespace.

No Ingress: host names are shared by the cluster, a project could claim another's; the platform routes by name. No Job:
a release is what keeps running, sync waits for it to be ready; what runs once is a pipeline. No Secret: manifests come
from a repository and are public in it. No Role or RoleBinding: the namespace's rights are the platform's.
"""

_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?")


def kinds_are_allowed(release: Release) -> Iterator[Finding]:
    """Namespaced kinds of the list, in the version that the platform reads."""
    for document in release.documents:
        kind, version = document.get("kind"), document.get("apiVersion")
        if not isinstance(kind, str) or kind not in KINDS:
            hint = "Delete it from gitops/." if kind != "Secret" else "Delete it; ask the platform for what is secret."
            yield release.wrong(document, f"found kind {shown(kind)}, allowed: {one_of(KINDS)}", hint)
        elif version != KINDS[kind]:
            message = f"found apiVersion {shown(version)}, allowed: {KINDS[kind]}"
            yield release.wrong(document, message, f"Type: apiVersion: {KINDS[kind]}")


def names_are_given(release: Release) -> Iterator[Finding]:
    """Each document has a name that Kubernetes takes; a generated one would be another with every sync."""
    for document in release.documents:
        if not _NAME.fullmatch(name_of(document)):
            found = at(document, "metadata", "name") or at(document, "metadata", "generateName")
            message = f"found the name {shown(found)}, allowed: lower-case letters, digits, '-' and '.'"
            yield release.wrong(document, message, "Type: metadata: {name: …}")
        if at(document, "metadata", "finalizers") or at(document, "metadata", "ownerReferences"):
            message = "has finalizers or ownerReferences, which would keep it from being removed with the release"
            yield release.wrong(document, message, "Delete them from metadata.")


def documents_are_distinct(release: Release) -> Iterator[Finding]:
    """Two documents with one identity overwrite each other."""
    places = Counter((who(one), str(at(one, "metadata", "namespace"))) for one in release.documents)
    for document in release.documents:
        if places.pop((who(document), str(at(document, "metadata", "namespace"))), 1) > 1:
            yield release.wrong(document, "is there more than once", "Delete one of them.")


def namespace_is_the_environments(release: Release) -> Iterator[Finding]:
    """A document says the environment's namespace or none (sync fills it in); without one given, all say the same."""
    found = [at(document, "metadata", "namespace") for document in release.documents]
    wanted = release.namespace if release.namespace is not None else next((one for one in found if one), None)
    for document, namespace in zip(release.documents, found, strict=True):
        if namespace != wanted and not (namespace is None and release.namespace is not None):
            message = f"found namespace {shown(namespace)}, allowed: {shown(wanted)}, the environment's"
            yield release.wrong(document, message, "Delete namespace from the resource: the overlay sets it for all.")


def service_accounts_bring_nothing(release: Release) -> Iterator[Finding]:
    """A ServiceAccount may be a name, not a way to credentials."""
    for document in release.of_kind("ServiceAccount"):
        for key in ("secrets", "imagePullSecrets"):
            if document.get(key):
                yield release.wrong(document, f"has {key}, but a release holds no Secret", f"Delete {key}.")
        if document.get("automountServiceAccountToken") is True:
            message = "has automountServiceAccountToken: true, but a model needs no Kubernetes API"
            yield release.wrong(document, message, "Type: automountServiceAccountToken: false")
        for key in mapping(at(document, "metadata", "annotations")):
            if re.search(r"amazonaws\.com/|gke\.io/|azure\.", str(key)):
                yield release.wrong(document, f"has the annotation {shown(key)}, a cloud identity", "Delete it.")


RULES = (
    kinds_are_allowed,
    names_are_given,
    documents_are_distinct,
    namespace_is_the_environments,
    service_accounts_bring_nothing,
)
