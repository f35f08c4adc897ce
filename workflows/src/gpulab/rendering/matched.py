"""Did every `images:` entry and every patch meet something? Kustomize says nothing when one does not.

The model is kustomize's order: a kustomization takes what its resources give, then its components change that, then
its own patches and `images:` apply.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gpulab.contract.finding import Finding
from gpulab.contract.words import did_you_mean, nearest, one_of, shown
from gpulab.rendering.kustomizations import Kustomization

_LABELS = (("labelSelector", "labels"), ("annotationSelector", "annotations"))
_EQUALITY = re.compile(r"[^=!,() ]+==?[^=!,() ]+(?:,[^=!,() ]+==?[^=!,() ]+)*")

Document = Mapping[str, Any]


def images_and_patches_matched(build: Kustomization, rendered: Sequence[Document]) -> list[Finding]:
    """What changes nothing in any kustomization of a build.

    Args:
        build: the overlay's files (`kustomizations.read_build`).
        rendered: the documents that it renders to; patches may name a resource by its rendered name.
    """
    return [*_unmatched_images(build, frozenset())[1], *_unmatched_patches(build, (), rendered)[1]]


def _unmatched_images(part: Kustomization, given: frozenset[str]) -> tuple[frozenset[str], list[Finding]]:
    """The image names after a kustomization, and its unmatched entries.

    Args:
        given: the names that a component gets from the kustomization that uses it.
    """
    names = given | _images_in(part.documents)
    problems: list[Finding] = []
    for base in part.bases:
        found, more = _unmatched_images(base, frozenset())
        names, problems = names | found, problems + more
    for component in part.components:
        names, more = _unmatched_images(component, names)
        problems += more
    names |= _images_in(part.patches)
    for entry in _mappings(part.content.get("images")):
        name = str(entry.get("name", ""))
        if name not in names:
            message = f"found {shown(name)}, but no manifest uses that image, only {one_of(sorted(names)) or 'none'}"
            hint = f"Type: name: {near}" if (near := nearest(name, names)) else "Delete the entry."
            problems.append(Finding("error", part.path, "images", f"{message}{did_you_mean(name, names)}", hint))
        names = (names - {name}) | {str(entry.get("newName") or name)}
    return names, problems


def _images_in(value: Any) -> frozenset[str]:
    """Every `image:` below a value, without tag and digest; also the value of a JSON 6902 operation on one."""
    if isinstance(value, Mapping):
        own = value.get("value") if str(value.get("path", "")).endswith("/image") else value.get("image")
        names = {re.sub(r":[^/:]*$", "", own.split("@")[0])} if isinstance(own, str) else set()
        return frozenset(names).union(*map(_images_in, value.values()))
    if isinstance(value, list | tuple):
        return frozenset().union(*map(_images_in, value))
    return frozenset()


def _unmatched_patches(
    part: Kustomization, given: tuple[Document, ...], rendered: Sequence[Document]
) -> tuple[tuple[Document, ...], list[Finding]]:
    """The documents after a kustomization, and its unmatched patches."""
    documents = (*given, *part.documents, *_generated(part))
    problems: list[Finding] = []
    for base in part.bases:
        found, more = _unmatched_patches(base, (), rendered)
        documents, problems = (*documents, *found), problems + more
    for component in part.components:
        documents, more = _unmatched_patches(component, documents, rendered)
        problems += more
    everything = (*documents, *rendered)
    for entry, content in zip(_mappings(part.content.get("patches")), part.patches, strict=False):
        for target in _targets(entry, content):
            if not any(_selects(target, document) for document in everything):
                kinds = sorted({f"{one.get('kind')}/{_name(one)}" for one in everything})
                message = (
                    f"the target {shown(dict(target))} selects nothing, there are {one_of(kinds) or 'no resources'}"
                )
                hint = "Correct kind and name of the target, or delete the patch."
                problems.append(Finding("error", part.path, "patches", message, hint))
    return documents, problems


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []


def _generated(part: Kustomization) -> Iterator[Document]:
    for entry in _mappings(part.content.get("configMapGenerator")):
        yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": entry.get("name")}}


def _targets(entry: Mapping[str, Any], content: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
    """The `target` of a patch; without one, the resources that a strategic merge names itself."""
    if isinstance(entry.get("target"), Mapping):
        yield entry["target"]
        return
    for document in content:
        if isinstance(document, Mapping) and "kind" in document:
            yield {"kind": document["kind"], "name": re.escape(_name(document))}


def _name(document: Document) -> str:
    metadata = document.get("metadata")
    return str(metadata.get("name", "")) if isinstance(metadata, Mapping) else ""


def _selects(target: Mapping[str, Any], document: Document) -> bool:
    """Kustomize's selector: anchored regular expressions for names, equality for group, version and kind."""
    group, _, version = str(document.get("apiVersion", "")).rpartition("/")
    facts = {"group": group, "version": version, "kind": str(document.get("kind", "")), "name": _name(document)}
    for key, found in facts.items():
        if target.get(key) and not _matches(str(target[key]), found):
            return False
    return all(_labelled(target.get(selector), document, kind) for selector, kind in _LABELS)


def _matches(pattern: str, text: str) -> bool:
    try:
        return re.fullmatch(pattern, text) is not None
    except re.error:
        return False


def _labelled(selector: Any, document: Document, kind: str) -> bool:
    """Only the form `key=value[,key=value]` is looked into; others count as a match."""
    if not isinstance(selector, str) or not re.fullmatch(
        r"[^=!,() ]+={1,2}[^=!,() ]+(,[^=!,() ]+={1,2}[^=!,() ]+)*", selector
    ):
        return True
    metadata = document.get("metadata")
    labels = metadata.get(kind) if isinstance(metadata, Mapping) else None
    wanted = [re.split("==?", item) for item in selector.split(",")]
    return isinstance(labels, Mapping) and all(labels.get(key) == value for key, value in wanted)
