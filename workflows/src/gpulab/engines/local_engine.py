"""The local engine of one project: its settings, from the project's home."""

from gpulab.engines.local.client import LocalEngine
from gpulab.engines.local.settings import EngineSettings
from gpulab.home import Home
from gpulab.pipelines.settings import Settings


def local_engine(home: Home, project: str) -> LocalEngine:
    """The engine that runs the rendered pipelines in `.gpulab/`."""
    settings = Settings()
    return LocalEngine(
        EngineSettings(
            home=str(home.root.resolve()),
            platform_images=(settings.steps_image,),
            configmaps={settings.config_map: config_map(home)},
            images="gpulab.images.resolver:resolver",
            images_settings={"home": str(home.root.resolve())},
            limit=1,  # `verify` runs alone on a machine that it shares with `tests`: two at once spoil its timings
            after_run="gpulab.engines.dispatch:after_run",
            after_run_settings={"home": str(home.root.resolve()), "project": project},
        )
    )


def config_map(home: Home) -> dict[str, str]:
    """The ConfigMap `gpulab`: what `gpulab.platform.from_environment` reads in a step."""
    return {"GPULAB_PLATFORM": "local", "GPULAB_HOME": str(home.root)}
