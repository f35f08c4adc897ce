"""What the files of a kustomize build say: the values that `read_kustomizations` makes and `matched` judges."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpulab.contract.finding import Finding

FIELDS: Mapping[str, type[Any]] = {
    "apiVersion": str,
    "kind": str,
    "metadata": dict,
    "namespace": str,
    "namePrefix": str,
    "nameSuffix": str,
    "labels": list,
    "commonAnnotations": dict,
    "resources": list,
    "components": list,
    "images": list,
    "patches": list,
    "replicas": list,
    "replacements": list,
    "configMapGenerator": list,
    "generatorOptions": dict,
    "configurations": list,
    "sortOptions": dict,
}
"""What a project's kustomization may use. Plugins, charts and remote bases would run or fetch what nobody reviewed."""

KINDS: Mapping[Any, str] = {str: "text", list: "a list", dict: "a mapping"}

INSTEAD: Mapping[str, str] = {
    "bases": "resources",
    "commonLabels": "labels (with includeSelectors: false)",
    "patchesStrategicMerge": "patches, each with path",
    "patchesJson6902": "patches, each with target and path",
    "vars": "replacements",
    "imageTags": "images",
    "secretGenerator": "nothing: a release holds no Secret",
    "helmCharts": "the chart's rendered YAML as resources",
}


@dataclass(frozen=True)
class Kustomization:
    """One kustomization and what it builds on.

    Attributes:
        path: of its file, relative to the project.
        content: the parsed file.
        documents: the resources it reads from files.
        bases: the kustomizations among its resources.
        components: those among its components.
        patches: the parsed text of each entry of `patches`, in order; documents or JSON 6902 operations.
    """

    path: str
    content: dict[str, Any]
    documents: tuple[dict[str, Any], ...]
    bases: tuple["Kustomization", ...]
    components: tuple["Kustomization", ...]
    patches: tuple[tuple[Any, ...], ...]

    def all(self) -> Iterator["Kustomization"]:
        """This one and all that it builds on."""
        yield self
        for other in (*self.bases, *self.components):
            yield from other.all()


@dataclass
class Reading:
    """The outcome of reading a build: the tree as far as it could be read, and what is wrong."""

    project: Path
    build: Kustomization | None = None
    problems: list[Finding] = field(default_factory=list)

    def refuse(self, path: str, where: str, message: str, hint: str) -> None:
        """Note an error."""
        self.problems.append(Finding("error", path, where, message, hint))
