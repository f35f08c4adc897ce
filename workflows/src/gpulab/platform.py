"""The adapters of this environment: which forge, image builder and cluster a step talks to.

A pod gets them from the ConfigMap `gpulab` as environment variables, and what is secret as files; the local engine
passes the same names.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gpulab.clusters.local import LocalCluster
from gpulab.clusters.protocol import Cluster
from gpulab.errors import PlatformError
from gpulab.events import Event
from gpulab.forges.local import LocalForge
from gpulab.forges.local.outbox import put
from gpulab.forges.protocol import Forge
from gpulab.home import Home
from gpulab.images.layout import Layout
from gpulab.images.protocol import ImageBuilder
from gpulab.images.source_artifact import SourceArtifactBuilder

SECRETS = Path("/gpulab/secrets")
"""Where the platform's steps see the Secrets `gpulab-forge` and `gpulab-registry`."""


@dataclass(frozen=True)
class Platform:
    """Everything outside that a step may touch.

    Attributes:
        name: of the engine that runs the workflows, for the record.
        simulates_gpus: nodes only say that they have GPUs, for tests of the platform: steps run on the CPU there.
    """

    name: str
    forge: Forge
    builder: ImageBuilder
    cluster: Callable[[str], Cluster]
    simulates_gpus: bool = False


def local_platform(home: Home, deliver: Callable[[Event], object]) -> Platform:
    """The platform in a project's `.gpulab/`; `deliver` takes the events of its forge."""
    builder = SourceArtifactBuilder(Layout(home.images))
    return Platform("local", LocalForge(home, deliver), builder, lambda environment: LocalCluster(home, environment))


def from_environment(environ: Mapping[str, str], secrets: Path = SECRETS) -> Platform:
    """The platform that the variables of the ConfigMap `gpulab` describe.

    Raises:
        PlatformError: a variable is missing or unknown, or a Secret is.
    """
    kind = environ.get("GPULAB_PLATFORM", "")
    if kind == "kubernetes":
        from gpulab.kubernetes_platform import kubernetes_platform  # what only a pod needs

        return kubernetes_platform(environ, secrets)
    if kind != "local":
        raise PlatformError(f"GPULAB_PLATFORM is {kind!r}; known: local, kubernetes. The ConfigMap `gpulab` sets it.")
    if not environ.get("GPULAB_HOME"):
        raise PlatformError("GPULAB_HOME is missing: the ConfigMap `gpulab` sets it.")
    home = Home(Path(environ["GPULAB_HOME"]))
    return local_platform(home, lambda event: put(home, event))
