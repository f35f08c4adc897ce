"""Argo's stream of changes: server-sent events, each line a JSON document with `result` or `error`. Pure."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from gpulab.errors import PlatformError

PREFIX = "data: "


def workflows(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The Workflows that a stream tells; lines that carry none (comments, keepalives) are skipped.

    Raises:
        PlatformError: the stream says that it broke, or is no JSON.
    """
    for line in lines:
        if not line.startswith(PREFIX):
            continue
        try:
            message = json.loads(line[len(PREFIX) :])
        except ValueError:
            raise PlatformError("Argo's stream of events broke in the middle of a line") from None
        if message.get("error"):
            raise PlatformError(f"Argo's stream of events ended: {message['error'].get('message', 'no reason given')}")
        found = (message.get("result") or {}).get("object")
        if found:
            yield found
