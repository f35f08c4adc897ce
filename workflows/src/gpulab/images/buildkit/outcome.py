"""Whose fault is a build that failed: the project's, or the platform's?

A FAIL is given only for errors of a list that the project alone can cause: its own program ended with an error, its
Dockerfile cannot be parsed, it copies what is not there. Everything else (registry, base image, network, disk, memory,
an error nobody has seen yet) is the platform's: tried again, then INCONCLUSIVE.

A program that says in its last lines that the network failed is the platform's too. Whoever prints such a line on
purpose gets INCONCLUSIVE instead of FAIL, so nothing.
"""

import re
from dataclasses import dataclass

from gpulab.images.buildkit.log import BuildLog, Vertex

LAST_LINES = 20

_PROCESS = re.compile(r'process "(?:[^"\\]|\\.)*" did not complete successfully: (?P<how>.*)', re.DOTALL)
_EXIT_CODE = re.compile(r"exit code: (?P<code>\d+)")
_KILLED = 137
"""128 + SIGKILL: the kernel's answer to too little memory, and of a node that goes down."""

PROJECTS_ERRORS = tuple(
    re.compile(pattern)
    for pattern in (
        r"dockerfile parse error",
        r"failed to read dockerfile: open \S+: no such file or directory",
        r"^the Dockerfile cannot be empty",
        r"^no build stage in current context",
        r"^base name \(.*\) should not be blank",
        r"^secret \S+: not found",
        r"^invalid containerPort: ",
        r"^circular dependency detected on stage",
        r'failed to calculate checksum of ref \S+: ".*": not found$',
        r"did not complete successfully: unable to find (?:user|group) ",
    )
)
"""Parts of BuildKit 0.34's error texts that name the project's Dockerfile or files."""

NETWORK = re.compile(
    r"temporary failure (?:in name resolution|resolving)|name or service not known|could not resolve|"
    r"no address associated with hostname|nodename nor servname|"
    r"failed to establish a new connection|newconnectionerror|connecttimeouterror|readtimeouterror|"
    r"connection (?:refused|reset by peer|timed out|aborted)|network is unreachable|no route to host|"
    r"read timed out|operation timed out|i/o timeout|tls handshake timeout|max retries exceeded|"
    r"remote end closed connection|cannot connect to proxy|"
    r"(?:http error|error:|status(?: code)?:?|returned error:) ?(?:429|50[0-4])|"
    r"50[0-4] server error|429 client error",
    re.IGNORECASE,
)
"""What pip, uv, apt, curl, git and Python's urllib3 say of a network or index that fails."""


@dataclass(frozen=True)
class Failure:
    """A build that failed.

    Attributes:
        is_projects: the commit is at fault.
        reason: in one line.
        lines: the end of the output that tells more.
    """

    is_projects: bool
    reason: str
    lines: list[str]


def why_failed(log: BuildLog) -> Failure:
    """Whose fault it is, from the steps that failed and buildctl's last word."""
    for vertex in log.failed:
        found = _PROCESS.fullmatch(vertex.error)
        if found and (code := _EXIT_CODE.fullmatch(found["how"])):
            return _program(vertex, int(code["code"]))
    error = log.error or (log.failed[-1].error if log.failed else "buildctl ended without a word")
    is_projects = any(pattern.search(error) for pattern in PROJECTS_ERRORS)
    return Failure(is_projects, error, log.own[-LAST_LINES:])


def _program(vertex: Vertex, code: int) -> Failure:
    lines = vertex.lines[-LAST_LINES:]
    step = " ".join(vertex.name.split())[:120]
    if code == _KILLED:
        return Failure(False, f"{step}: was killed, most likely for using more memory than the build pod has", lines)
    network = next((line for line in lines if NETWORK.search(line)), None)
    if network is not None:
        return Failure(False, f"{step}: the network failed: {network.strip()[:200]}", lines)
    last = f": {lines[-1].strip()[:200]}" if lines else ""
    return Failure(True, f"{step}: exit code {code}{last}", lines)
