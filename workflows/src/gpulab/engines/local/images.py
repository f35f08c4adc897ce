"""What an image is on a machine without containers."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from gpulab.engines.local.settings import EngineSettings
from gpulab.errors import PlatformError


@dataclass(frozen=True)
class LocalImage:
    """An image laid out as a folder.

    Attributes:
        root: the folder that stands for the image's `/`; None for a platform image, which brings no files.
        workdir: the image's working directory, absolute, e.g. `/app`; it lies at `root/app`.
        env: the image's environment.
    """

    root: Path | None = None
    workdir: str = ""
    env: Mapping[str, str] = field(default_factory=dict)


Resolver = Callable[[str], LocalImage]
"""From `name@sha256:…` to its folder; raises LookupError or OSError when the store has no such digest."""


def load_resolver(settings: EngineSettings) -> Resolver:
    """The resolver for a run: platform images here, digests by the configured function.

    Raises:
        PlatformError: `images` does not name an importable function.
    """
    by_digest = _import(settings) if settings.images else None

    def resolve(image: str) -> LocalImage:
        if image in settings.platform_images:
            return LocalImage()
        if "@sha256:" not in image or by_digest is None:
            raise LookupError(f"{image}: neither a platform image ({', '.join(settings.platform_images)}) nor a digest")
        return by_digest(image)

    return resolve


def _import(settings: EngineSettings) -> Resolver:
    module, _, function = settings.images.partition(":")
    try:
        return cast(Resolver, getattr(importlib.import_module(module), function)(settings.images_settings))
    except (ImportError, AttributeError, ValueError) as error:
        raise PlatformError(f"engine.json: images: {settings.images!r} cannot be loaded: {error}") from error
