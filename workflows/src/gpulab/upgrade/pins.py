"""Pin what an overlay installs: a kustomization beside it, which adds tag and digest of every image.

The tag stays beside the digest for people and for `gpulab doctor`; a container runtime takes the digest.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import httpx

from gpulab.doctor.compare import PLACEHOLDER
from gpulab.doctor.installation import BY_DIGEST, images_in
from gpulab.doctor.versions import tag
from gpulab.errors import InputError
from gpulab.images.registry import TIMEOUT, Registry
from gpulab.rendering.documents import read_documents
from gpulab.rendering.kustomize import build
from gpulab.rendering.yaml_text import to_yaml
from gpulab.tenants.settings import PLATFORM

HEADER = "# Made by `gpulab platform pin`: the overlay beside it with every image by digest. Apply this folder.\n"
Digest = Callable[[str, str], str | None]
"""(repository, tag) → digest."""


def pin(overlay: Path, insecure: bool) -> Iterator[str]:
    """Write `<overlay>-pinned/kustomization.yaml`; one line per image.

    Raises:
        ContractError: kustomize refuses the overlay.
        InputError: a tag does not exist.
        PlatformError: a registry does not answer.
    """
    overlay = overlay.resolve()
    images = sorted(set(images_of(read_documents(build(overlay, str(overlay))))))
    with httpx.Client(timeout=TIMEOUT) as http:
        entries = pinned(images, lambda repository, found: Registry(http, repository, None, insecure).digest(found))
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [f"../{overlay.name}"],
        "images": entries,
    }
    folder = overlay.with_name(f"{overlay.name}-pinned")  # kustomize takes no folder that is above its own
    folder.mkdir(exist_ok=True)
    (folder / "kustomization.yaml").write_text(HEADER + to_yaml(kustomization), encoding="utf-8")
    yield from (f"{one['name']}:{one['newTag']}@{one['digest']}" for one in entries)
    yield from (
        f"not pinned: {one} is a placeholder: name it in the overlay's images" for one in images if is_ours(one)
    )
    yield f"written: {folder / 'kustomization.yaml'}. Next: gpulab platform upgrade --overlay {folder}"


def pinned(images: Iterable[str], digest: Digest) -> list[dict[str, str]]:
    """Kustomize's `images` for all that have a tag and no digest yet.

    Raises:
        InputError: a tag does not exist.
    """
    entries = []
    for image in images:
        if is_ours(image) or "@" in image:
            continue
        repository, found = image.removesuffix(f":{tag(image)}"), tag(image)
        value = digest(repository, found)
        if value is None:
            raise InputError(f"{image}: the registry has no such tag. Correct it in the overlay's images.")
        entries.append({"name": repository, "newTag": found, "digest": value})
    return entries


def images_of(documents: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Every image that an installation names: of pods, pipelines, the executor, builds and lanes."""
    for one in documents:
        yield from images_in(one.get("spec"))
        if one["kind"] == "ConfigMap" and one["metadata"]["name"] == PLATFORM:
            yield from (image for key, image in one["data"].items() if image and key.startswith(BY_DIGEST))


def is_ours(image: str) -> bool:
    """Whether it is a name that an overlay has to replace."""
    return image.startswith(PLACEHOLDER)
