"""What the engine is told once; kept beside each run in `engine.json`, because another process reads it there."""

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

from gpulab.engines.errors import CorruptRun

SCHEMA = "gpulab/engine/v1"


def default_limit() -> int:
    """How many pods run at the same time: as many as there are processors, but at most 4."""
    return max(1, min(4, os.cpu_count() or 1))


@dataclass(frozen=True)
class EngineSettings:
    """The engine's settings.

    Attributes:
        home: the folder of runs, artifacts and locks.
        platform_images: images whose steps run in this interpreter's environment.
        configmaps: what `envFrom.configMapRef` finds.
        images: `module:function`; `function(images_settings)` gives the resolver of `name@sha256:…` images.
        images_settings: what that function is called with.
        after_run: `module:function`, called with `after_run_settings` in the supervisor when the run has ended.
        after_run_settings: what that function is called with.
        limit: pods at the same time.
        grace_seconds: between SIGTERM and SIGKILL (Argo's default is 30).
    """

    home: str
    platform_images: tuple[str, ...] = ()
    configmaps: dict[str, dict[str, str]] = field(default_factory=dict)
    images: str = ""
    images_settings: dict[str, str] = field(default_factory=dict)
    after_run: str = ""
    after_run_settings: dict[str, str] = field(default_factory=dict)
    limit: int = field(default_factory=default_limit)
    grace_seconds: float = 5.0

    def dump(self) -> str:
        """The text of `engine.json`."""
        return json.dumps({"schema": SCHEMA, **asdict(self)}, indent=2, sort_keys=True)

    @classmethod
    def load(cls, path: Path) -> "EngineSettings":
        """Read `engine.json`.

        Raises:
            CorruptRun: it is missing or not what `dump` wrote.
        """
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if data.pop("schema") != SCHEMA:
                raise ValueError(f"schema is not {SCHEMA}")
            return cls(**{**data, "platform_images": tuple(data["platform_images"])})
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise CorruptRun(f"{path}: cannot be read ({error}). Start the run again: gpulab run") from error
