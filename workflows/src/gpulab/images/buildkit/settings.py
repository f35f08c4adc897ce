"""What the platform decides about a project's builds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

Mode = Literal["rootless", "privileged"]
MODES: tuple[str, ...] = get_args(Mode)


@dataclass(frozen=True)
class BuildSettings:
    """One project's builds.

    Attributes:
        namespace: of the build pods; it holds the Secrets `gpulab-registry` and `gpulab-forge`.
        image: BuildKit and the two programs of images/buildkit, by digest.
        mode: how the build pod is confined; `privileged` is for clusters without user namespaces.
        clone: the project's clone URL, without credentials.
        repository: where its images are pushed, without tag.
        lanes: the image of each lane, by digest.
        insecure: the registry speaks HTTP without TLS.
    """

    namespace: str
    image: str
    mode: Mode
    clone: str
    repository: str
    lanes: Mapping[str, str]
    insecure: bool = False
