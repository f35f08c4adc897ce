"""Which images a release runs: its own by digest, nothing that can change, nothing from elsewhere."""

import re
from collections.abc import Iterator

from gpulab.contract.finding import Finding
from gpulab.contract.words import one_of, shown
from gpulab.rendering.release_rules.release import Release, containers, pods

_PINNED = re.compile(r"[^@\s]+@sha256:[0-9a-f]{64}")


def registry_of(image: str) -> str:
    """The registry of an image name; Docker Hub when it names none (distribution/reference)."""
    first, slash, _ = image.partition("/")
    return first if slash and ("." in first or ":" in first or first == "localhost") else "docker.io"


def images_are_pinned(release: Release) -> Iterator[Finding]:
    """Every image by digest: a tag is another image tomorrow."""
    for document, template in pods(release.documents):
        for container in containers(template):
            image = container.get("image")
            if not isinstance(image, str) or not _PINNED.fullmatch(image):
                message = f"found the image {shown(image)}, allowed: name@sha256:… with 64 digits"
                hint = "Type: the image of [delivery] in lab.toml without a tag (the release adds the digest)."
                yield release.wrong(document, message, hint)


def images_are_from_here(release: Release) -> Iterator[Finding]:
    """Only registries that the platform trusts."""
    for document, template in pods(release.documents):
        for container in containers(template):
            image = container.get("image")
            if isinstance(image, str) and registry_of(image) not in release.registries:
                message = (
                    f"found {shown(image)} from {registry_of(image)}, allowed: {one_of(sorted(release.registries))}"
                )
                yield release.wrong(document, message, "Build what is needed into the project's own image.")


def own_image_is_there(release: Release) -> Iterator[Finding]:
    """The release is about one build: some container runs it, and none an older one."""
    repository = release.image.split("@")[0]
    found = {
        str(one.get("image")): document
        for document, template in pods(release.documents)
        for one in containers(template)
    }
    if release.image not in found:
        message = f"no container runs {release.image}"
        hint = f"Type: image: {repository} in the Deployment of gitops/base."
        yield Finding("error", release.told_as, "", message, hint)
    for image, document in found.items():
        if image.split("@")[0] == repository and image != release.image:
            message = f"found {shown(image)}, which is another build than the release's"
            yield release.wrong(document, message, "Delete the digest: the release sets it.")


def own_container_has_a_command(release: Release) -> Iterator[Finding]:
    """The command stands in the manifest: a source artifact (local) has no CMD, and a reviewer sees what runs."""
    for document, template in pods(release.documents):
        for container in containers(template):
            command = container.get("command")
            started = isinstance(command, list) and command and all(isinstance(word, str) for word in command)
            if container.get("image") == release.image and not started:
                hint = 'Type: command: ["python3", "-m", "<package>.serve"]'
                yield release.wrong(document, f"container {shown(container.get('name'))} has no command", hint)


RULES = (images_are_pinned, images_are_from_here, own_image_is_there, own_container_has_a_command)
