"""YAML documents from text, strictly: no duplicate keys, no aliases, nothing that JSON does not have.

A duplicate key is an accident that parsers resolve differently, an alias can grow a kilobyte into gigabytes, and a
date or a set is no Kubernetes value.
"""

from collections.abc import Hashable
from typing import Any

import yaml

from gpulab.contract.words import shown


class DocumentError(ValueError):
    """Text that is not strict YAML.

    Attributes:
        line: where, counted from 1.
        reason: why, without the line.
    """

    def __init__(self, line: int, reason: str):
        self.line, self.reason = line, reason
        super().__init__(f"line {line}: {reason}")


_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _StrictLoader(_Base):  # type: ignore[misc]  # the C loader where PyYAML has one
    """A safe loader that reads dates as text and refuses duplicate keys."""

    yaml_implicit_resolvers = {  # noqa: RUF012  PyYAML's own attribute
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            name = str(key.value)
            if key.tag != "tag:yaml.org,2002:str":
                raise DocumentError(_line(key), f"found the key {shown(name)}, allowed: text, so write it in quotes")
            if name in seen:
                raise DocumentError(_line(key), f"found the key {shown(name)} for the second time")
            seen.add(name)
        result: dict[Hashable, Any] = super().construct_mapping(node, deep=deep)
        return result


def read_documents(text: str) -> list[dict[str, Any]]:
    """The documents of a YAML stream, each a mapping; empty ones are left out.

    Raises:
        DocumentError: it is not YAML, not strict, or a document is no mapping.
    """
    try:
        _refuse_aliases(text)
        documents = [one for one in yaml.load_all(text, Loader=_StrictLoader) if one is not None]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        last = max(1, len(text.splitlines()))
        raise DocumentError(min(mark.line + 1, last) if mark else 1, error.problem or "not YAML") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        if isinstance(error, DocumentError):
            raise
        raise DocumentError(1, f"not YAML ({' '.join(str(error).split())[:80]})") from None
    for document in documents:
        if not isinstance(document, dict):
            raise DocumentError(1, f"found {shown(document)}, allowed: a mapping with apiVersion, kind, metadata")
        _refuse_foreign(document)
    return documents


def _refuse_aliases(text: str) -> None:
    for event in yaml.parse(text, Loader=_Base):
        if isinstance(event, yaml.AliasEvent):
            mark = event.start_mark
            raise DocumentError(mark.line + 1 if mark else 1, f"found the alias *{event.anchor}: write the value out")


def _refuse_foreign(value: Any) -> None:
    """Sets, bytes and pairs come from explicit tags only."""
    if isinstance(value, dict):
        for item in value.values():
            _refuse_foreign(item)
    elif isinstance(value, list):
        for item in value:
            _refuse_foreign(item)
    elif value is not None and not isinstance(value, str | int | float | bool):
        raise DocumentError(1, f"found a {type(value).__name__}, allowed: text, numbers, true/false, lists, mappings")


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1 if node.start_mark else 1
