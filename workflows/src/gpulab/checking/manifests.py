"""Would the overlay be released? Rendered as a release renders it, with a digest that stands for the build's."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpulab.contract.finding import ContractError, Finding
from gpulab.contract.lab import Lab
from gpulab.contract.words import shown
from gpulab.rendering.documents import DocumentError, read_documents
from gpulab.rendering.matched import images_and_patches_matched
from gpulab.rendering.overlays import namespace_of, overlay_of, render_build
from gpulab.rendering.release_rules.release import containers, mappings, pods, who
from gpulab.rendering.released import released_problems

ANY_DIGEST = f"sha256:{'0' * 64}"
"""Stands for the digest of a build that is not made yet."""


def overlay_findings(root: Path, environment: str, lab: Lab) -> list[Finding]:
    """Problems of one environment's overlay.

    Raises:
        PlatformError: kustomize cannot be run.
    """
    told_as, image = overlay_of(environment), f"{lab.delivery.image}@{ANY_DIGEST}"
    try:
        text, build = render_build(root, environment, lab.delivery.image, ANY_DIGEST)
        documents = read_documents(text)
    except ContractError as error:
        return list(error.problems)
    except DocumentError as error:
        return [Finding("error", told_as, "", str(error), "Correct the resource in gitops/.")]
    namespace = namespace_of(lab.project.slug, environment)
    problems = released_problems(documents, image=image, namespace=namespace, told_as=told_as)
    return [*problems, *images_and_patches_matched(build, documents), *_served(documents, image, told_as, lab)]


def _served(documents: Sequence[Mapping[str, Any]], image: str, told_as: str, lab: Lab) -> Iterator[Finding]:
    """The manifests start what `[serving]` names, on its port."""
    for document, template in pods(documents):
        for container in containers(template):
            if container.get("image") != image:
                continue
            where = who(document)
            ports = [port.get("containerPort") for port in mappings(container.get("ports"))]
            if ports and lab.serving.port not in ports:
                message = f"found containerPort {shown(ports[0])}, but [serving] port in lab.toml is {lab.serving.port}"
                yield Finding("warning", told_as, where, message, f"Type: containerPort: {lab.serving.port}")
            command = container.get("command")
            if isinstance(command, list) and "-m" in command and lab.serving.module not in command:
                message = f"found the command {shown(command)}, but [serving] module is {shown(lab.serving.module)}"
                yield Finding("warning", told_as, where, message, "Correct one of the two.")
