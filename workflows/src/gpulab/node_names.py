"""How a person names a node of a run: Argo's display name without the values that a fan-out was given."""

import re

ITEM = re.compile(r"\(\d+:name:([a-z0-9-]+)[^)]*\)")
"""How a fan-out over accelerators names its items."""

ATTEMPT = re.compile(r"\(\d+\)$")
"""How a retried pod's attempts end; the node that retries tells the same without it."""


def plain(display_name: str) -> str:
    """`verify(0:name:t4,on:t4,podSpecPatch:{…})(0)` -> `verify on t4`."""
    return ITEM.sub(r" on \1", ATTEMPT.sub("", display_name))
