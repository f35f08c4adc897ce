"""A platform's settings, a project, and an API server in memory that knows enough for `connect`."""

import base64
import json
from typing import Any

import httpx
import pytest
from gpulab.kubernetes import Api
from gpulab.tenants.cluster import Cluster
from gpulab.tenants.objects import secret
from gpulab.tenants.plan import Secrets
from gpulab.tenants.project import Tenant, tenant
from gpulab.tenants.settings import Address, Platform, complete

SETTINGS = {
    "GPULAB_FORGE_KIND": "gitea",
    "GPULAB_FORGE_API": "http://192.0.2.1:3000/api/v1",
    "GPULAB_FORGE_URL": "http://192.0.2.1:3000",
    "GPULAB_REGISTRY": "registry.example.org/lab",
    "GPULAB_S3_ENDPOINT": "s3.storage.svc:8333",
    "GPULAB_S3_BUCKET": "gpulab",
    "GPULAB_S3_INSECURE": "true",
    "GPULAB_ARGO_URL": "https://argo.example.org",
    "GPULAB_WEBHOOK_URL": "http://argo-server.argo:2746",
    "GPULAB_BUILDKIT_IMAGE": f"registry.example.org/buildkit@sha256:{'b' * 64}",
    "GPULAB_BUILDKIT_MODE": "rootless",
    "GPULAB_LANE_CPU": f"registry.example.org/runtime-cpu@sha256:{'c' * 64}",
}


@pytest.fixture
def platform() -> Platform:
    return Platform(complete(SETTINGS), (Address("192.0.2.7", 6443),), queues=True, version="0.1.0")


@pytest.fixture
def project() -> Tenant:
    return tenant("gpu-lab-1", "teacher/gpu-lab-1")


@pytest.fixture
def secrets() -> Secrets:
    """Each value is found again when it gets somewhere."""
    docker = '{"auths":{"registry.example.org":{"auth":"seen-registry"}}}'
    return Secrets("seen-webhook", "seen-bot", "seen-clone", ("seen-access", "seen-key"), docker, docker)


class ApiServer:
    """Objects by path; what is applied, listed, read and deleted."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.asked: list[tuple[str, str]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        self.asked.append((request.method, path))
        match request.method:
            case "PATCH":
                assert request.url.params["fieldManager"] == "gpulab"
                self.objects[path] = json.loads(request.content)
                if self.objects[path].get("type") == "kubernetes.io/service-account-token":
                    self.objects[path]["data"] = {"token": base64.b64encode(b"of-the-account").decode()}
                return httpx.Response(200, json=self.objects[path])
            case "DELETE":
                gone = [name for name in self.objects if name == path or name.startswith(f"{path}/")]
                gone += [name for name in self.objects if f"{path.removeprefix('/api/v1')}/" in name]
                for name in set(gone):
                    del self.objects[name]
                return httpx.Response(200 if gone else 404, json={})
        if path in self.objects:
            return httpx.Response(200, json=self.objects[path])
        below = [one for name, one in self.objects.items() if name.rpartition("/")[0] == path]
        collection = path.rpartition("/")[2].endswith("s") and not path.startswith("/api/v1/namespaces/gpu-lab-1-ci/co")
        return httpx.Response(200, json={"items": below}) if below or collection else httpx.Response(404, json={})

    def put(self, document: dict[str, Any]) -> None:
        metadata, kind = document["metadata"], f"{document['kind'].lower()}s"
        root = "/api/v1" if document["apiVersion"] == "v1" else f"/apis/{document['apiVersion']}"
        self.objects[f"{root}/namespaces/{metadata['namespace']}/{kind}/{metadata['name']}"] = document


@pytest.fixture
def server() -> ApiServer:
    server = ApiServer()
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "gpulab", "name": "gpulab-platform"}}
    server.put(settings | {"data": SETTINGS})
    server.put(secret("gpulab", "gpulab-artifacts", {"accesskey": "seen-access", "secretkey": "seen-key"}))
    ports: dict[str, Any] = {"ports": [{"port": 443}], "clusterIPs": ["10.96.0.1"]}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "default", "name": "kubernetes"}}
    server.put(service | {"spec": ports})
    endpoints = {"endpoints": [{"addresses": ["192.0.2.7"]}], "ports": [{"port": 6443}]}
    metadata = {"namespace": "default", "name": "kubernetes"}
    server.put({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": metadata, **endpoints})
    return server


@pytest.fixture
def cluster(server: ApiServer) -> Cluster:
    client = httpx.Client(base_url="https://cluster.example", transport=httpx.MockTransport(server))
    return Cluster(Api(client, lambda seconds: None), lambda seconds: None)
