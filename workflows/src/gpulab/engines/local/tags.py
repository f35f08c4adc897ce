"""`{{…}}`: which tags exist, and filling them in.

A value is data: it is put in and never looked at again. Argo looks again in some places (`{{=6*7}}` in a branch name
becomes 42), so a value that holds `{{` is refused where it would be used, instead of giving another result here.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

Scope = dict[str, str | None]
"""From a tag to its text; None stands for the output of a skipped task that has no default."""

TAG = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_NAME = r"[A-Za-z0-9_-]+"
_KNOWN = re.compile(
    rf"workflow\.(name|namespace|uid|creationTimestamp|status|failures|parameters\.{_NAME})"
    rf"|inputs\.parameters(\.{_NAME})?|inputs\.artifacts\.{_NAME}\.path|outputs\.(parameters|artifacts)\.{_NAME}\.path"
    rf"|(tasks|steps)\.{_NAME}\.(status|outputs\.parameters\.{_NAME})"
    rf"|item(\.{_NAME})?|pod\.name|node\.name|retries"
)


class TagError(ValueError):
    """A tag cannot be filled in."""


class AbsentError(TagError):
    """The tag is the output of a skipped or omitted task without a default."""


def names(text: str) -> list[str]:
    """The tags of a text."""
    return [match.strip() for match in TAG.findall(text)]


def unsupported(text: str) -> Iterator[str]:
    """What in a text looks like a tag and is none that the engine knows (`{{=…}}`, `{{foo}}`, an open `{{`)."""
    yield from (f"{{{{{name}}}}}" for name in names(text) if not _KNOWN.fullmatch(name))
    if "{{" in TAG.sub("", text):
        yield "{{ without }}"


def fill(text: str, scope: Mapping[str, str | None]) -> str:
    """The text with its tags filled in, in one pass.

    Raises:
        TagError: a tag is not in the scope (Argo would wait for it for ever).
        AbsentError: it is there, but a skipped task never wrote it.
    """

    def value(match: re.Match[str]) -> str:
        name = match[1].strip()
        if name not in scope:
            raise TagError(f"failed to resolve {{{{{name}}}}}")
        found = scope[name]
        if found is None:
            raise AbsentError(f"{{{{{name}}}}} is the output of a task that was skipped or omitted, and has no default")
        return found

    return TAG.sub(value, text)


def fill_all(value: Any, scope: Mapping[str, str | None]) -> Any:
    """`fill` for every text in a nest of lists and mappings."""
    if isinstance(value, str):
        return fill(value, scope)
    if isinstance(value, list):
        return [fill_all(item, scope) for item in value]
    if isinstance(value, dict):
        return {key: fill_all(item, scope) for key, item in value.items()}
    return value
