"""Which objects a release applied, so that the next one removes what it no longer holds.

The inventory is written twice: before applying with everything that was there or will be, afterwards with what is
there. Whoever dies in between leaves a list that names too much, never too little.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gpulab.rendering.release_rules.shape import KINDS

ORDER = (
    "ServiceAccount",
    "ConfigMap",
    "NetworkPolicy",
    "Service",
    "PodDisruptionBudget",
    "Deployment",
    "HorizontalPodAutoscaler",
)
"""What a pod needs comes before it; what watches it comes after."""


class Identity(NamedTuple):
    """One object of an environment."""

    kind: str
    name: str

    @property
    def api_version(self) -> str:
        """The one version of the kind that a release may use."""
        return KINDS[self.kind]

    def __str__(self) -> str:
        """`Deployment/app`."""
        return f"{self.kind}/{self.name}"


def identity(document: Mapping[str, Any]) -> Identity:
    """The identity of a document.

    Raises:
        ValueError: its kind is none that a release may hold, or it has no name.
    """
    kind, name = document.get("kind"), (document.get("metadata") or {}).get("name")
    if not isinstance(kind, str) or document.get("apiVersion") != KINDS.get(kind):
        raise ValueError(f"{kind} is no kind of a release; those are {', '.join(KINDS)}")
    if not isinstance(name, str) or not name:
        raise ValueError(f"a {kind} has no name")
    return Identity(kind, name)


def in_order(documents: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Documents in the order in which they are applied."""
    return sorted(documents, key=lambda one: (ORDER.index(one["kind"]), one["metadata"]["name"]))


def to_prune(before: Sequence[Identity], wanted: Iterable[Identity]) -> list[Identity]:
    """What was applied before and is not wanted any more, users of others first."""
    gone = set(before) - set(wanted)
    return sorted(gone, key=lambda one: (-ORDER.index(one.kind), one.name))


def dump(identities: Iterable[Identity]) -> str:
    """The text that the ConfigMap keeps."""
    return json.dumps([list(one) for one in sorted(set(identities))])


def load(text: str) -> list[Identity]:
    """What the ConfigMap says; entries of kinds that no release may hold are left out: they are not ours to delete.

    Raises:
        ValueError: it is not what `dump` wrote.
    """
    rows = json.loads(text)
    if not isinstance(rows, list) or not all(_is_row(row) for row in rows):
        raise ValueError("it has to be a list of [kind, name]")
    return [Identity(*row) for row in rows if row[0] in KINDS]


def _is_row(row: Any) -> bool:
    return isinstance(row, list) and len(row) == 2 and all(isinstance(part, str) and part for part in row)
