"""A project's overlay rendered with the image of one build: what a deploy branch holds."""

import json
import os
import re
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from gpulab.contract.finding import ContractError, Finding
from gpulab.contract.read import read_lab
from gpulab.contract.words import shown
from gpulab.names import SLUG
from gpulab.rendering.kustomizations import Kustomization
from gpulab.rendering.kustomize import build
from gpulab.rendering.read_kustomizations import read_build

_NAME = re.compile(SLUG)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def overlay_of(environment: str) -> str:
    """The folder of an environment's overlay inside a project."""
    return f"gitops/overlays/{environment}"


def namespace_of(slug: str, environment: str) -> str:
    """The namespace that an environment's release lives in; it holds no Secret of the platform."""
    return f"{slug}-{environment}"


def render_overlay(project_dir: Path, environment: str, image: str, digest: str) -> str:
    """The manifests of one environment, with the image pinned: the same files and digest give the same text.

    Args:
        project_dir: the project, or a checkout of a commit.
        environment: `teaching` or `production`.
        image: the image's repository name, as the manifests name it.
        digest: `sha256:…` of the build.

    Raises:
        ContractError: with every problem of the overlay that can be seen.
        ValueError: environment or digest is not of its form.
        PlatformError: kustomize cannot be run.
    """
    return render_build(project_dir, environment, image, digest)[0]


def render_release(project_dir: Path, environment: str, repository: str, digest: str) -> str:
    """The manifests of one environment with the image that was built: the platform's repository wins over lab.toml's.

    Raises:
        ContractError: with every problem of the overlay that can be seen.
        PlatformError: kustomize cannot be run.
    """
    named = read_lab(project_dir).delivery.image
    return render_build(project_dir, environment, named, digest, repository)[0]


def render_build(
    project_dir: Path, environment: str, image: str, digest: str, repository: str = ""
) -> tuple[str, Kustomization]:
    """The same as `render_overlay`, with the files that it was built from.

    Args:
        repository: where the image lies, when that is not where its name says.
    """
    if not _NAME.fullmatch(environment) or not _DIGEST.fullmatch(digest):
        raise ValueError(f"not an environment and a digest: {environment!r}, {digest!r}")
    told_as = overlay_of(environment)
    overlay = project_dir / told_as
    if not overlay.is_dir():
        raise ContractError([Finding("error", told_as, "", "missing", f"Make {told_as}/kustomization.yaml.")])
    reading = read_build(project_dir, overlay)
    if reading.problems or reading.build is None:
        raise ContractError(reading.problems)
    text = _with_image(overlay.resolve(), {"name": image, "newName": repository or image, "digest": digest}, told_as)
    if f"{repository or image}@{digest}" not in text:
        hint = f"Type: image: {image} in the Deployment of gitops/base."
        raise ContractError([Finding("error", told_as, "", f"nothing in it uses the image {shown(image)}", hint)])
    return text, reading.build


def _with_image(overlay: Path, image: dict[str, str], told_as: str) -> str:
    """Build a kustomization outside the project that adds the digest: no file of the project is touched."""
    with TemporaryDirectory(prefix="gpulab-", dir=_same_drive(overlay)) as folder:
        outside = Path(folder).resolve()
        content = {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": [Path(os.path.relpath(overlay, outside)).as_posix()],
            "images": [image],
        }
        (outside / "kustomization.yaml").write_text(json.dumps(content), encoding="utf-8")
        return build(outside, told_as)


def _same_drive(overlay: Path) -> Path | None:
    """Where the folder outside is made: kustomize takes relative paths only, and none leads to another drive."""
    return None if overlay.drive == Path(gettempdir()).resolve().drive else overlay.parents[2].parent
