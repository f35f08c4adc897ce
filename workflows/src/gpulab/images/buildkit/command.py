"""The command line of `buildctl build`, and buildkitd's settings.

See https://github.com/moby/buildkit#output and https://github.com/moby/buildkit/blob/master/docs/buildkitd.toml.md.
"""

from gpulab.images.buildkit.settings import BuildSettings

SOURCE = "/gpulab/source/tree"
"""Where the build pod's first container lays out the commit: a folder of its own, because git trusts no other."""

EPOCH = 315532800
"""1980-01-01, the oldest time that a zip (so a wheel) can hold: with it, the same commit gives the same layers."""


def arguments(settings: BuildSettings, lane: str, revision: str) -> list[str]:
    """Arguments of `buildctl build`.

    The tag is the commit, so that no registry removes the image as untagged; everybody else uses the digest.

    Args:
        lane: the lane's image, by digest.
    """
    cache = {"type": "registry", "ref": f"{settings.repository}:buildcache"} | _insecure(settings)
    return [
        "--progress=rawjson",
        "--frontend=dockerfile.v0",
        f"--local=context={SOURCE}",
        f"--local=dockerfile={SOURCE}",
        f"--opt=build-arg:LANE={lane}",
        f"--opt=build-arg:SOURCE_DATE_EPOCH={EPOCH}",
        f"--output={_csv(_output(settings, revision))}",
        f"--import-cache={_csv(cache)}",
        f"--export-cache={_csv(cache | CACHE_EXPORT)}",
    ]


CACHE_EXPORT = {"mode": "max", "image-manifest": "true", "oci-mediatypes": "true", "ignore-error": "true"}
"""A manifest that every registry takes; a cache that cannot be written costs time and no build."""


def _output(settings: BuildSettings, revision: str) -> dict[str, str]:
    return {
        "type": "image",
        "name": f"{settings.repository}:{revision}",
        "push": "true",
        "oci-mediatypes": "true",
        "rewrite-timestamp": "true",
    } | _insecure(settings)


def _insecure(settings: BuildSettings) -> dict[str, str]:
    return {"registry.insecure": "true"} if settings.insecure else {}


def _csv(values: dict[str, str]) -> str:
    return ",".join(f"{key}={value}" for key, value in values.items())


def daemon_settings(settings: BuildSettings) -> str:
    """buildkitd.toml: the registry that speaks plain HTTP, for base images too."""
    if not settings.insecure:
        return ""
    host = settings.repository.split("/")[0]
    return f'[registry."{host}"]\nhttp = true\n'
