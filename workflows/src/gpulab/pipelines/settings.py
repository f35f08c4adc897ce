"""What the platform decides once for all pipelines."""

from dataclasses import dataclass

from gpulab import __version__


@dataclass(frozen=True)
class Settings:
    """Names and limits that a platform maintainer owns.

    Templates are immutable: the version is part of the name, so that an upgrade adds new templates beside those
    that running workflows still use (editing a template ends the runs in flight).

    Attributes:
        service_account: of the platform's steps.
        executor: of Argo's containers beside a project's code; it may write task results, and nothing else.
    """

    version: str = __version__
    steps_image: str = f"gpulab.local/steps:{__version__}"
    service_account: str = "gpulab-pipeline"
    executor: str = "gpulab-executor"
    config_map: str = "gpulab"

    def template_name(self, pipeline: str) -> str:
        """The name of a pipeline's ClusterWorkflowTemplate, e.g. `push-v0-1-0`."""
        return f"{pipeline}-v{self.version.replace('.', '-')}"
