"""Read what `buildctl build --progress=rawjson` writes.

Each line is a status of the solver in JSON, in which the output of a RUN is base64; so no program that a Dockerfile
runs can write a line of its own. What is no such line comes from buildctl itself, last of all its error.

See client.SolveStatus in https://github.com/moby/buildkit/blob/v0.34.2/client/graph.go.
"""

import base64
import binascii
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Vertex:
    """One step of a build.

    Attributes:
        name: e.g. `[2/5] RUN pip install …`.
        error: why it failed; empty when it did not.
        output: what its program wrote.
    """

    name: str = ""
    error: str = ""
    output: bytearray = field(default_factory=bytearray)

    @property
    def lines(self) -> list[str]:
        """Its output as text, a line each; what overwrites a line (a progress bar) counts as one."""
        text = self.output.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n")
        return [line.rstrip() for line in text.split("\n") if line.strip()]


@dataclass
class BuildLog:
    """A whole build.

    Attributes:
        vertices: by digest, in the order in which they appeared.
        own: what buildctl said itself.
    """

    vertices: dict[str, Vertex] = field(default_factory=dict)
    own: list[str] = field(default_factory=list)

    @property
    def error(self) -> str:
        """buildctl's last word, without `error: failed to solve: `; empty when it ended well or was killed."""
        told = [line for line in self.own if line.startswith("error: ")]
        return told[-1].removeprefix("error: ").removeprefix("failed to solve: ") if told else ""

    @property
    def failed(self) -> list[Vertex]:
        """The steps with an error."""
        return [one for one in self.vertices.values() if one.error]

    def text(self) -> Iterator[str]:
        """The build for a person: each step, what it wrote, its error."""
        for vertex in self.vertices.values():
            yield vertex.name
            yield from (f"  {line}" for line in vertex.lines)
            if vertex.error:
                yield f"  ERROR: {vertex.error}"
        yield from self.own


def read_log(text: str) -> BuildLog:
    """A build's log; lines that cannot be read as a status are buildctl's own words."""
    log = BuildLog()
    for line in text.split("\n"):
        status = _status(line)
        if status is None:
            log.own += [line.rstrip()] if line.strip() else []
            continue
        for one in _rows(status, "vertexes"):
            vertex = log.vertices.setdefault(str(one.get("digest")), Vertex())
            vertex.name = str(one.get("name", vertex.name))
            vertex.error = str(one.get("error", vertex.error))
        for one in _rows(status, "logs"):
            log.vertices.setdefault(str(one.get("vertex")), Vertex()).output += _data(one.get("data"))
    return log


def _status(line: str) -> dict[str, Any] | None:
    try:
        document = json.loads(line)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def _rows(status: dict[str, Any], key: str) -> list[dict[str, Any]]:
    rows = status.get(key)
    return [one for one in rows if isinstance(one, dict)] if isinstance(rows, list) else []


def _data(text: Any) -> bytes:
    try:
        return base64.b64decode(text or "")
    except (binascii.Error, TypeError, ValueError):
        return b""
