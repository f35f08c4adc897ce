"""The adapters of a pod in a cluster: a hosted forge, BuildKit, a registry and the Kubernetes API."""

from collections.abc import Mapping
from pathlib import Path

import httpx

from gpulab.clusters.kubernetes import KubernetesCluster
from gpulab.clusters.kubernetes.records import Records
from gpulab.clusters.protocol import Cluster
from gpulab.errors import PlatformError
from gpulab.forges.connected import hosted_forge
from gpulab.images import registry
from gpulab.images.buildkit import BuildKitBuilder, BuildSettings
from gpulab.kubernetes.connect import connect
from gpulab.platform import Platform
from gpulab.platform_settings import read_settings
from gpulab.rendering.overlays import namespace_of


def kubernetes_platform(environ: Mapping[str, str], secrets: Path) -> Platform:
    """The platform of a pod that got the ConfigMap `gpulab` as variables and its Secrets as files.

    Args:
        secrets: holds `forge/token` and, for a registry with a login, `registry/config.json`.

    Raises:
        PlatformError: a variable or the forge's token is missing.
    """
    settings, api = read_settings(environ), connect()
    forge = hosted_forge(environ, _token(secrets / "forge" / "token", settings.namespace))
    builder = BuildKitBuilder(api, settings.build, _registry(settings.build, secrets / "registry" / "config.json"))

    def cluster(environment: str) -> Cluster:
        namespace = namespace_of(settings.project, environment)
        return KubernetesCluster(api, namespace, Records(api, settings.namespace, environment))

    return Platform("argo", forge, builder, cluster, settings.simulates_gpus)


def _token(file: Path, namespace: str) -> str:
    token = file.read_text(encoding="utf-8").strip() if file.is_file() else ""
    if not token:
        raise PlatformError(f"Secret {namespace}/gpulab-forge has no key token. Type: gpulab project connect.")
    return token


def _registry(build: BuildSettings, config: Path) -> registry.Registry:
    login = registry.credentials(config, registry.split(build.repository)[0])
    return registry.Registry(httpx.Client(timeout=registry.TIMEOUT), build.repository, login, build.insecure)
