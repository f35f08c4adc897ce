"""The pod of one build.

Its first container fetches the commit and is the only one that holds the forge's token: a `RUN --mount=type=secret`
can read every secret of its build, so BuildKit is given none. The registry's key stays with buildkitd.

See https://github.com/moby/buildkit/tree/master/examples/kubernetes.
"""

from pathlib import PurePosixPath
from typing import Any

from gpulab.images.buildkit.command import SOURCE, arguments, daemon_settings
from gpulab.images.buildkit.settings import BuildSettings
from gpulab.images.protocol import BuildRequest

Json = dict[str, Any]
BUILD_SECONDS = 1500
"""Longest build; less than the `image` step may take, which has to tell about it."""

VOLUME = str(PurePosixPath(SOURCE).parent)
LABELS = {"app.kubernetes.io/part-of": "gpulab", "app.kubernetes.io/component": "build"}
FETCH_RESOURCES = {
    "requests": {"cpu": "100m", "memory": "128Mi", "ephemeral-storage": "256Mi"},
    "limits": {"cpu": "1", "memory": "512Mi", "ephemeral-storage": "2Gi"},
}
BUILD_RESOURCES = {
    "requests": {"cpu": "500m", "memory": "1Gi", "ephemeral-storage": "2Gi"},
    "limits": {"cpu": "4", "memory": "4Gi", "ephemeral-storage": "20Gi"},
}
ROOTLESS = {
    "runAsUser": 1000,
    "runAsGroup": 1000,
    "runAsNonRoot": True,
    "seccompProfile": {"type": "Unconfined"},
    "appArmorProfile": {"type": "Unconfined"},
}
"""What rootlesskit needs: unshare and mount as an ordinary user; newuidmap is setuid."""

PRIVILEGED = {"privileged": True, "runAsUser": 0, "runAsGroup": 0}
CONFINED = {
    "runAsUser": 1000,
    "runAsGroup": 1000,
    "runAsNonRoot": True,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


def pod_name(run: str) -> str:
    """The pod of a run: a further attempt finds what the one before has left."""
    return f"build-{run}"[:63].rstrip("-.")


def build_pod(settings: BuildSettings, request: BuildRequest, lane: str) -> Json:
    """The pod that builds and pushes one commit.

    Args:
        lane: the lane's image, by digest.
    """
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": pod_name(request.run),
            "namespace": settings.namespace,
            "labels": LABELS | {"gpulab/run": request.run[:63]},
        },
        "spec": {
            "restartPolicy": "Never",
            "activeDeadlineSeconds": BUILD_SECONDS,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "imagePullSecrets": [{"name": "gpulab-registry"}],
            "securityContext": {"fsGroup": 1000},
            "initContainers": [_fetch(settings, request)],
            "containers": [_build(settings, request, lane)],
            "volumes": [
                {"name": "source", "emptyDir": {"sizeLimit": "2Gi"}},
                {"name": "state", "emptyDir": {"sizeLimit": "20Gi"}},
                _secret("forge", "gpulab-forge", {"token": "token"}),
                _secret("registry", "gpulab-registry", {".dockerconfigjson": "config.json"}),
            ],
        },
    }


def _fetch(settings: BuildSettings, request: BuildRequest) -> Json:
    return {
        "name": "fetch",
        "image": settings.image,
        "command": ["gpulab-fetch"],
        "args": [settings.clone, request.revision, SOURCE],
        "env": [{"name": "HOME", "value": VOLUME}],
        "securityContext": CONFINED,
        "resources": FETCH_RESOURCES,
        "volumeMounts": [_mount("source", VOLUME), _mount("forge", "/gpulab/secrets/forge", read_only=True)],
    }


def _build(settings: BuildSettings, request: BuildRequest, lane: str) -> Json:
    return {
        "name": "build",
        "image": settings.image,
        "command": ["gpulab-build"],
        "args": arguments(settings, lane, request.revision),
        "env": [
            {"name": "BUILDKITD_CONFIG", "value": daemon_settings(settings)},
            {"name": "DOCKER_CONFIG", "value": "/gpulab/secrets/registry"},
        ],
        "securityContext": ROOTLESS if settings.mode == "rootless" else PRIVILEGED,
        "resources": BUILD_RESOURCES,
        "volumeMounts": [
            _mount("source", VOLUME, read_only=True),
            _mount("state", "/gpulab/state"),
            _mount("registry", "/gpulab/secrets/registry", read_only=True),
        ],
    }


def _mount(name: str, path: str, read_only: bool = False) -> Json:
    return {"name": name, "mountPath": path} | ({"readOnly": True} if read_only else {})


def _secret(name: str, secret: str, keys: dict[str, str]) -> Json:
    items = [{"key": key, "path": path} for key, path in keys.items()]
    return {"name": name, "secret": {"secretName": secret, "optional": True, "defaultMode": 0o440, "items": items}}
