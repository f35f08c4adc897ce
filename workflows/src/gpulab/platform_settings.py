"""ConfigMap `gpulab` of a project's pipeline namespace as types: every key checked before a step does anything."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpulab.contract.lanes import lanes
from gpulab.errors import PlatformError
from gpulab.images.buildkit import BuildSettings, Mode
from gpulab.images.buildkit.settings import MODES
from gpulab.names import LABEL, SLUG

BY_DIGEST = r"[a-z0-9][a-zA-Z0-9.:/_-]*@sha256:[0-9a-f]{64}"
URL = r"https?://[A-Za-z0-9.:\[\]_-]+(?:/[A-Za-z0-9._~/-]*)?"
"""No user, password, query or `$`: these values stand in pods' arguments and in Git's settings."""

REQUIRED: Mapping[str, tuple[str, str]] = {
    "GPULAB_PROJECT": (SLUG, "the project's slug"),
    "GPULAB_NAMESPACE": (LABEL, "the namespace of its pipelines"),
    "GPULAB_BUILD_NAMESPACE": (LABEL, "the namespace of its build pods"),
    "GPULAB_IMAGE": (r"[a-z0-9][a-z0-9.:/_-]*[a-z0-9]", "an image repository without tag or digest"),
    "GPULAB_FORGE_CLONE": (URL, "a clone URL without credentials"),
    "GPULAB_BUILDKIT_IMAGE": (BY_DIGEST, "an image by digest"),
    "GPULAB_BUILDKIT_MODE": ("|".join(MODES), " or ".join(MODES)),
    "GPULAB_REGISTRY_INSECURE": ("true|false", "true or false"),
}
LANE_KEYS: Mapping[str, str] = {lane.name: f"GPULAB_LANE_{lane.name.upper()}" for lane in lanes()}
"""By lane: a platform builds the lanes that its machines need."""

OPTIONAL: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(LANE_KEYS.values(), (BY_DIGEST, "an image by digest")),
    "GPULAB_SIMULATED_GPUS": ("true|false", "true or false"),
}


@dataclass(frozen=True)
class PlatformSettings:
    """What the platform decided for one project.

    Attributes:
        project: its slug.
        namespace: of its pipelines and of what is remembered about its releases.
        build: of its images.
        simulates_gpus: see `Platform.simulates_gpus`.
    """

    project: str
    namespace: str
    build: BuildSettings
    simulates_gpus: bool = False


def read_settings(environ: Mapping[str, str]) -> PlatformSettings:
    """The settings of a pod that got the ConfigMap as environment variables.

    Raises:
        PlatformError: with every key that is missing or is not what it must be.
    """
    problems = list(_problems(environ))
    if problems:
        raise PlatformError(f"ConfigMap gpulab: {'; '.join(problems)}. Type: gpulab project connect, as the platform.")
    mode: Mode = "privileged" if environ["GPULAB_BUILDKIT_MODE"] == "privileged" else "rootless"
    build = BuildSettings(
        namespace=environ["GPULAB_BUILD_NAMESPACE"],
        image=environ["GPULAB_BUILDKIT_IMAGE"],
        mode=mode,
        clone=environ["GPULAB_FORGE_CLONE"],
        repository=environ["GPULAB_IMAGE"],
        lanes={name: environ[key] for name, key in LANE_KEYS.items() if environ.get(key)},
        insecure=environ["GPULAB_REGISTRY_INSECURE"] == "true",
    )
    simulates_gpus = environ.get("GPULAB_SIMULATED_GPUS") == "true"
    return PlatformSettings(environ["GPULAB_PROJECT"], environ["GPULAB_NAMESPACE"], build, simulates_gpus)


def _problems(environ: Mapping[str, str]) -> Iterator[str]:
    rules = dict(REQUIRED) | {key: rule for key, rule in OPTIONAL.items() if environ.get(key)}
    for key, (pattern, allowed) in rules.items():
        value = environ.get(key, "")
        if not value:
            yield f"{key} is missing, it has to be {allowed}"
        elif not re.fullmatch(pattern, value):
            yield f"{key} is {value!r}, it has to be {allowed}"
