"""An installation with one tenant as its cluster would show it: the overlay and the tenant's plan, nothing made up."""

import json

from gpulab.doctor import Snapshot
from gpulab.doctor.access import questions
from gpulab.doctor.compare import PLACEHOLDER
from gpulab.pipelines.settings import Settings
from gpulab.rendering.documents import read_documents
from gpulab.rendering.kustomize import build
from gpulab.tenants.plan import Secrets, objects
from gpulab.tenants.project import Tenant
from gpulab.tenants.settings import Address, Platform

from .conftest import GITOPS, Document

PROJECT = "gpu-lab-1"
SETTINGS = {
    "GPULAB_FORGE_KIND": "gitea",
    "GPULAB_FORGE_API": "http://10.0.0.1:3000/api/v1",
    "GPULAB_FORGE_URL": "http://10.0.0.1:3000",
    "GPULAB_REGISTRY": "10.0.0.1:5000",
    "GPULAB_S3_ENDPOINT": "10.0.0.1:8333",
    "GPULAB_BUILDKIT_IMAGE": f"10.0.0.1:5000/buildkit:v0.34.2@sha256:{'a' * 64}",
}
SERVERS = (Address("10.0.0.1", 6443),)


def in_cluster(document: Document) -> Document:
    """As an API server shows it: with defaults and a status, the steps' image set."""
    text = json.dumps(document).replace(f"{PLACEHOLDER}steps", "10.0.0.1:5000/steps")
    live: Document = json.loads(text)
    live["metadata"] |= {"uid": "1", "resourceVersion": "1"}
    if live["kind"] == "Deployment":
        live["status"] = {"readyReplicas": live["spec"].get("replicas", 1)}
    if live.get("type") == "kubernetes.io/service-account-token":
        live["data"] = {"token": "aHVzaC10b2tlbg=="}
    return live


def installed(overlay: str = "local", version: str = Settings().version) -> list[Document]:
    """Every object of a platform and one tenant of it, whose pipelines are of a version."""
    documents = read_documents(build(GITOPS / "overlays" / overlay, overlay))
    documents += [json.loads(file.read_text(encoding="utf-8")) for file in sorted((GITOPS / "crds").glob("*.json"))]
    settings = next(one["data"] for one in documents if one["metadata"]["name"] == "gpulab-platform")
    settings |= SETTINGS | {"GPULAB_WEBHOOK_URL": "http://10.0.0.1:32746", "GPULAB_ARGO_URL": "http://10.0.0.1:32746"}
    platform = platform_of(documents, version)
    secrets = Secrets("hush-webhook", "hush-bot", "hush-clone", ("hush-access", "hush-key"), "")
    documents += objects(platform, Tenant(PROJECT, f"class/{PROJECT}"), secrets)
    return [in_cluster(one) for one in documents]


def platform_of(documents: list[Document], version: str = Settings().version) -> Platform:
    """What `connect` knows of it."""
    settings = next(one["data"] for one in documents if one["metadata"]["name"] == "gpulab-platform")
    return Platform(settings, SERVERS, False, version)


def snapshot(documents: list[Document], kubernetes: str = "v1.34.4") -> Snapshot:
    """With all rights as they should be."""
    return Snapshot(kubernetes, documents, dict(questions([PROJECT])), platform=platform_of(documents))
