"""Ask a cluster for everything that the checks look at. A Secret's values are dropped as they arrive."""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpulab.doctor.access import questions
from gpulab.doctor.snapshot import Question, Snapshot
from gpulab.errors import PlatformError
from gpulab.kubernetes import Api, ApiError
from gpulab.tenants.cluster import Cluster
from gpulab.tenants.settings import Platform

OURS = "app.kubernetes.io/part-of=gpulab"
CORE, APPS, ARGO, KUEUE = "/api/v1", "/apis/apps/v1", "/apis/argoproj.io/v1alpha1", "/apis/kueue.x-k8s.io/v1beta2"
RBAC, NETWORK = "/apis/rbac.authorization.k8s.io/v1", "/apis/networking.k8s.io/v1"
WHOLE: tuple[tuple[str, str], ...] = (
    ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "CustomResourceDefinition"),
    (f"{ARGO}/clusterworkflowtemplates", "ClusterWorkflowTemplate"),
    (f"{APPS}/namespaces/argo/deployments", "Deployment"),
    (f"{CORE}/namespaces/argo/configmaps", "ConfigMap"),
    (f"{CORE}/namespaces/argo/secrets", "Secret"),
    (f"{APPS}/namespaces/kueue-system/deployments", "Deployment"),
    (f"{CORE}/namespaces/kueue-system/configmaps", "ConfigMap"),
    (f"{KUEUE}/clusterqueues", "ClusterQueue"),
)
LABELLED: tuple[tuple[str, str], ...] = (
    (f"{CORE}/namespaces", "Namespace"),
    (f"{CORE}/configmaps", "ConfigMap"),
    (f"{CORE}/secrets", "Secret"),
    (f"{CORE}/serviceaccounts", "ServiceAccount"),
    (f"{CORE}/limitranges", "LimitRange"),
    (f"{CORE}/resourcequotas", "ResourceQuota"),
    (f"{NETWORK}/networkpolicies", "NetworkPolicy"),
    (f"{RBAC}/roles", "Role"),
    (f"{RBAC}/rolebindings", "RoleBinding"),
    (f"{KUEUE}/localqueues", "LocalQueue"),
    (f"{ARGO}/workfloweventbindings", "WorkflowEventBinding"),
    (f"{ARGO}/cronworkflows", "CronWorkflow"),
)
"""Of all tenants at once: a course has hundreds of namespaces."""

REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


def collect(api: Api, only: Container[str] = ()) -> Snapshot:
    """Everything, of all tenants or of those that are named.

    Raises:
        ApiError: the API server does not answer.
    """
    version = (api.get("/version") or {}).get("gitVersion", "unknown")
    unreadable: dict[str, str] = {}
    found = [*_objects(api, WHOLE, unreadable), *_objects(api, LABELLED, unreadable, labelSelector=OURS)]
    seen = Snapshot(version, [one for one in found if not only or _concerns(one, only)], {}, unreadable)
    return replace(seen, allowed=_answers(api, seen.projects(), unreadable), platform=_platform(api))


def _platform(api: Api) -> Platform | None:
    try:
        return Cluster(api).platform()
    except PlatformError:  # what is missing is told by the checks
        return None


def _concerns(one: Mapping[str, Any], only: Container[str]) -> bool:
    """Whether an object is the platform's, or that of a named tenant."""
    labels = one["metadata"].get("labels") or {}
    project = labels.get("gpulab/project") if one["kind"] == "Namespace" else None
    return project is None or project in only


def _objects(
    api: Api, paths: Iterable[tuple[str, str]], unreadable: dict[str, str], **selector: str
) -> Iterator[dict[str, Any]]:
    for path, kind in paths:
        try:
            found = api.list(path, **selector)
        except ApiError as error:
            if error.status != 404:  # the kind is not defined: what needs it says so
                unreadable[path] = f"{error.status} {error.message}"
            continue
        for one in found:
            yield {**(_without_values(one) if kind == "Secret" else one), "kind": kind}


def _without_values(secret: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: secret["metadata"].get(key) for key in ("name", "namespace", "labels")}
    return {"metadata": kept, "data": dict.fromkeys(secret.get("data") or {}, "")}


def _answers(api: Api, projects: Iterable[str], unreadable: dict[str, str]) -> dict[Question, bool]:
    answers = {}
    for question, _ in questions(projects):
        try:
            answers[question] = bool(api.ask(REVIEWS, review(question))["status"]["allowed"])
        except ApiError as error:
            unreadable[REVIEWS] = f"{error.status} {error.message}"
            break
    return answers


def review(question: Question) -> dict[str, Any]:
    """A SubjectAccessReview, which names the groups too that every ServiceAccount is in."""
    attributes = {"verb": question.verb, "group": question.group, "resource": question.resource}
    if question.subresource:
        attributes["subresource"] = question.subresource
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": f"system:serviceaccount:{question.namespace}:{question.account}",
            "groups": [
                "system:authenticated",
                "system:serviceaccounts",
                f"system:serviceaccounts:{question.namespace}",
            ],
            "resourceAttributes": attributes | ({"namespace": question.of} if question.of else {}),
        },
    }
