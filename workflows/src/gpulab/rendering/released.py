"""What the manifests of a release may say: checked on the RENDERED documents, before they are committed or applied.

Kustomize changes things behind a reviewer's back and says nothing about what it did not change, so no rule looks at
the sources. The same rules hold in `gpulab check`, in `sync` and for a promotion.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gpulab.contract.finding import Finding
from gpulab.rendering.release_rules import images, network, pods, references, selectors, shape
from gpulab.rendering.release_rules.release import Release

RULES: tuple[Callable[[Release], Iterator[Finding]], ...] = (
    *shape.RULES,
    *images.RULES,
    *pods.RULES,
    *references.RULES,
    *selectors.RULES,
    *network.RULES,
)


def released_problems(
    documents: Sequence[Mapping[str, Any]],
    *,
    image: str,
    namespace: str | None = None,
    registries: Sequence[str] = (),
    told_as: str = "manifests.yaml",
) -> list[Finding]:
    """Why a release may not be applied; empty when it may.

    Args:
        documents: rendered, as parsed YAML.
        image: `repository@sha256:…` of the build that is released.
        namespace: of the environment; None: whatever it is, all documents must agree on it.
        registries: that other images may come from, beside the release's own.
        told_as: the file or overlay, for messages.
    """
    trusted = frozenset({images.registry_of(image), *registries})
    release = Release(tuple(one for one in documents if isinstance(one, Mapping)), image, namespace, trusted, told_as)
    found = [finding for rule in RULES for finding in rule(release)]
    if len(release.documents) < len(documents):
        found.append(Finding("error", told_as, "", "a document is no mapping", "Delete it from gitops/."))
    return list(dict.fromkeys(found))
