"""Lay out an image's files in a folder, as a container runtime would."""

import io
import shutil
import tarfile
import tempfile
from pathlib import Path

from model_tests.tar_files import extract

from gpulab.images.layout import Layout


def unpack(layout: Layout, digest: str, destination: Path) -> Path:
    """Extract every layer of an image into `destination`, once; a half-done extraction is never seen."""
    if destination.is_dir():
        return destination
    destination.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=destination.parent))
    for layer in layout.manifest(digest)["layers"]:
        with tarfile.open(fileobj=io.BytesIO(layout.get(layer["digest"]))) as tar:
            extract(tar, temporary)
    try:
        temporary.rename(destination)
    except OSError:
        shutil.rmtree(temporary, ignore_errors=True)
    return destination


def environment(layout: Layout, digest: str) -> dict[str, str]:
    """The image's `Env` as a mapping."""
    pairs = layout.config(digest).get("config", {}).get("Env", [])
    return dict(pair.split("=", 1) for pair in pairs)


def working_directory(layout: Layout, digest: str) -> str:
    """The image's `WorkingDir`, `/` when it names none."""
    return str(layout.config(digest).get("config", {}).get("WorkingDir") or "/")
