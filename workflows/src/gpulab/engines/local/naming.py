"""Names of templates, tasks, steps and containers."""

import re
from collections.abc import Iterator
from typing import Any

from gpulab.engines.protocol import Json

_NAME = re.compile(r"[A-Za-z0-9][-A-Za-z0-9]{0,127}")


def named(items: list[Json], where: str) -> Iterator[str]:
    """What is wrong with the names of a list's items: malformed, missing or used twice."""
    seen: set[Any] = set()
    for index, item in enumerate(items):
        name = item.get("name")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            yield f"{where}[{index}].name: {name!r} has to be letters, digits and '-'"
        if name in seen:
            yield f"{where}[{name}]: the name is used twice"
        seen.add(name)
