"""The forge that the ConfigMap `gpulab` names."""

from collections.abc import Mapping

from gpulab.errors import PlatformError
from gpulab.forges import gitea, github
from gpulab.forges.clone import Clone
from gpulab.forges.hosted import HostedForge
from gpulab.forges.http import api

KINDS = {"gitea": (gitea.GiteaApi, gitea.headers), "github": (github.GitHubApi, github.headers)}


def hosted_forge(environ: Mapping[str, str], token: str) -> HostedForge:
    """The forge of a project.

    Args:
        environ: `GPULAB_FORGE_KIND`, `_API`, `_REPOSITORY`, `_CLONE`; for links `GPULAB_ARGO_URL`, `GPULAB_NAMESPACE`.
        token: of the platform's bot.

    Raises:
        PlatformError: a variable is missing or unknown.
    """
    names = ("FORGE_KIND", "FORGE_API", "FORGE_REPOSITORY", "FORGE_CLONE", "ARGO_URL", "NAMESPACE")
    missing = [f"GPULAB_{name}" for name in names if not environ.get(f"GPULAB_{name}")]
    if missing:
        raise PlatformError(f"{', '.join(missing)} missing: the ConfigMap `gpulab` sets it.")
    kind, url, repository, clone, argo, namespace = (environ[f"GPULAB_{name}"] for name in names)
    if kind not in KINDS:
        raise PlatformError(f"GPULAB_FORGE_KIND is {kind!r}; known: {', '.join(KINDS)}.")
    made, headers = KINDS[kind]
    runs = f"{argo.rstrip('/')}/workflows/{namespace}"
    return HostedForge(Clone(clone, token), made(api(url, headers(token)), repository, runs))
