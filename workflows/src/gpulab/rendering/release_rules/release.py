"""What the rules look at: the documents of a release, read without trusting their shape."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpulab.contract.finding import Finding

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Release:
    """Rendered documents and what they have to be about.

    Attributes:
        documents: as rendered; any shape.
        image: `repository@sha256:…` of the build.
        namespace: of the environment; None when the caller leaves it open (then all documents must agree).
        registries: that images may come from.
        told_as: the file or overlay, for messages.
    """

    documents: tuple[Document, ...]
    image: str
    namespace: str | None
    registries: frozenset[str]
    told_as: str

    def wrong(self, document: Document, message: str, hint: str) -> Finding:
        """An error about one document."""
        return Finding("error", self.told_as, who(document), message, hint)

    def of_kind(self, *kinds: str) -> Iterator[Document]:
        """The documents of some kinds."""
        return (document for document in self.documents if document.get("kind") in kinds)

    def named(self, kind: str) -> dict[str, Document]:
        """The documents of a kind by name."""
        return {name_of(document): document for document in self.of_kind(kind)}


def at(value: Any, *keys: str) -> Any:
    """The value below some keys; None when there is none, or when something on the way is no mapping."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """The mappings in a list; [] for anything else."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, Sequence) else []


def name_of(document: Document) -> str:
    """`metadata.name`, or ""."""
    name = at(document, "metadata", "name")
    return name if isinstance(name, str) else ""


def who(document: Document) -> str:
    """`Deployment/app`."""
    return f"{document.get('kind') or 'a document without kind'}/{name_of(document)}"


def pods(documents: Iterable[Document]) -> Iterator[tuple[Document, Mapping[str, Any]]]:
    """Each document with a pod template, and the template."""
    for document in documents:
        template = at(document, "spec", "template")
        if isinstance(template, Mapping):
            yield document, template


def containers(template: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """All containers of a pod template: init, main and ephemeral ones."""
    for key in ("initContainers", "containers", "ephemeralContainers"):
        yield from mappings(at(template, "spec", key))


def selects(selector: Any, labels: Any) -> bool:
    """Whether `matchLabels` (or a plain label map) is met; expressions are not looked into."""
    wanted = mapping(at(selector, "matchLabels") if "matchLabels" in mapping(selector) else selector)
    plain = {key: value for key, value in wanted.items() if key != "matchExpressions"}
    return all(mapping(labels).get(key) == value for key, value in plain.items())
