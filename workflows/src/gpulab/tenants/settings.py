"""The platform's settings (ConfigMap `gpulab-platform`), what the cluster says about itself, a tenant's environment."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpulab.errors import PlatformError
from gpulab.tenants.project import Tenant

PLATFORM_NAMESPACE, PLATFORM = "gpulab", "gpulab-platform"
NEEDED = (
    "GPULAB_FORGE_KIND",
    "GPULAB_FORGE_API",
    "GPULAB_FORGE_URL",
    "GPULAB_REGISTRY",
    "GPULAB_S3_ENDPOINT",
    "GPULAB_S3_BUCKET",
    "GPULAB_ARGO_URL",
    "GPULAB_WEBHOOK_URL",
    "GPULAB_BUILDKIT_IMAGE",
    "GPULAB_BUILDKIT_MODE",
)
HANDED_ON = (
    "GPULAB_FORGE_KIND",
    "GPULAB_FORGE_API",
    "GPULAB_BUILDKIT_IMAGE",
    "GPULAB_BUILDKIT_MODE",
    "GPULAB_LANE_CPU",
    "GPULAB_LANE_CURRENT",
    "GPULAB_LANE_LEGACY",
    "GPULAB_ARGO_URL",
    "GPULAB_SIMULATED_GPUS",
)
"""Settings that a tenant's steps see as they are."""


@dataclass(frozen=True)
class Address:
    """Where the API server listens: an IP address and a port."""

    ip: str
    port: int


@dataclass(frozen=True)
class Platform:
    """What `connect` has to know.

    Attributes:
        settings: the keys of the ConfigMap.
        api_servers: of this cluster.
        queues: whether Kueue is installed.
        version: of the pipelines that are installed.
    """

    settings: Mapping[str, str]
    api_servers: tuple[Address, ...]
    queues: bool
    version: str

    def __getitem__(self, name: str) -> str:
        return self.settings[f"GPULAB_{name}"]

    def get(self, name: str, default: str) -> str:
        """A setting that has a default."""
        return self.settings.get(f"GPULAB_{name}") or default


def complete(settings: Mapping[str, str]) -> Mapping[str, str]:
    """The settings, when nothing that is needed is missing.

    Raises:
        PlatformError: something is.
    """
    missing = [name for name in NEEDED if not settings.get(name)]
    if missing:
        where = f"ConfigMap {PLATFORM_NAMESPACE}/{PLATFORM}"
        raise PlatformError(f"{where} has no {', '.join(missing)}. Set it in the overlay's platform.env, then apply.")
    if settings["GPULAB_FORGE_KIND"] not in ("gitea", "github"):
        raise PlatformError(f"GPULAB_FORGE_KIND: found {settings['GPULAB_FORGE_KIND']!r}; allowed: gitea, github")
    return settings


def environment(platform: Platform, tenant: Tenant) -> dict[str, str]:
    """The variables of every platform step of a tenant: its ConfigMap `gpulab`."""
    own = {
        "GPULAB_PLATFORM": "kubernetes",
        "GPULAB_PROJECT": tenant.slug,
        "GPULAB_NAMESPACE": tenant.namespace("ci"),
        "GPULAB_BUILD_NAMESPACE": tenant.namespace("build"),
        "GPULAB_FORGE_REPOSITORY": tenant.repository,
        "GPULAB_FORGE_CLONE": clone_url(platform, tenant),
        "GPULAB_IMAGE": f"{platform['REGISTRY'].rstrip('/')}/{tenant.slug}",
        "GPULAB_REGISTRY_INSECURE": platform.get("REGISTRY_INSECURE", "false"),
    }
    handed_on = {name: platform.settings[name] for name in HANDED_ON if platform.settings.get(name)}
    return dict(sorted((own | handed_on).items()))


def clone_url(platform: Platform, tenant: Tenant) -> str:
    """Without credentials."""
    return f"{platform['FORGE_URL'].rstrip('/')}/{tenant.repository}.git"


def hook_url(platform: Platform, tenant: Tenant) -> str:
    """Where the forge sends a project's events; `gpulab` is the discriminator of the event bindings."""
    return f"{platform['WEBHOOK_URL'].rstrip('/')}/api/v1/events/{tenant.namespace('ci')}/gpulab"
