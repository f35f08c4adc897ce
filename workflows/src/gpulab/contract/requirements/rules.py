"""What contradicts a lane: another torch, numpy of another major version, another CUDA, another Python."""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from gpulab.contract.finding import Finding
from gpulab.contract.lanes import Lane
from gpulab.contract.requirements.lines import Line
from gpulab.contract.words import shown

if TYPE_CHECKING:
    from packaging.requirements import Requirement

TORCHVISION_AHEAD = 15
"""torchvision 0.15 came with torch 2.0, and both count on together."""

LINUX = {
    **{"os_name": "posix", "sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64"},
    **{"implementation_name": "cpython", "platform_python_implementation": "CPython", "extra": ""},
}
"""Markers are decided as in the image, not as on the machine that checks."""

_INDEX = re.compile(r"(?:-i|--index-url|--extra-index-url|-f|--find-links)[ =]+\S*/whl/(?:\w+/)?(cpu|cu\d+)\b")
_FOR_CUDA = re.compile(r"-(?:cu|cuda)(\d\d)(?:x|\d)?$")
_ADDRESS = re.compile(r"[a-z+]+://|\.{0,2}/|\S+\.(?:whl|zip|tar\.gz)$|[\w.-]+\s*@\s")


def conflicts(lines: Iterable[Line], lane: Lane) -> Iterator[Finding]:
    """Findings about lines that contradict the lane; addresses and local paths are not looked into."""
    for line in lines:
        if line.text.startswith("-"):
            yield from _index(line, lane)
        elif not _ADDRESS.match(line.text):
            yield from _requirement(line, lane)


def _index(line: Line, lane: Lane) -> Iterator[Finding]:
    index = _INDEX.match(line.text)
    if index and index[1] != lane.wheels:
        message = f"found PyTorch's index {index[1]}, the lane {lane.name} has wheels of {lane.wheels}"
        yield _error(line, message, "Delete the line: the lane has PyTorch.")


def _requirement(line: Line, lane: Lane) -> Iterator[Finding]:
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    try:
        requirement = Requirement(line.text)
    except InvalidRequirement:
        message = f"found {shown(line.text)}, which is no requirement"
        yield _error(line, message, "Type: name or name==version, one on a line.")
        return
    marker = requirement.marker
    full = {"python_version": lane.python, "python_full_version": f"{lane.python}.0", **LINUX}
    if marker is not None and not marker.evaluate(full):
        return
    name = canonicalize_name(requirement.name)
    if name in RULES:
        yield from RULES[name](line, requirement, lane)
    elif (cuda := _FOR_CUDA.search(name)) and lane.cuda and cuda[1] != lane.cuda.partition(".")[0]:
        message = f"{requirement.name} is for CUDA {cuda[1]}, the lane {lane.name} has CUDA {lane.cuda}"
        right = name.replace(cuda[1], lane.cuda.partition(".")[0])
        yield _error(line, message, f"Type: {right}, or delete the line.")


def _torch(line: Line, requirement: "Requirement", lane: Lane) -> Iterator[Finding]:
    """The very build that the lane has: another one is for another CUDA."""
    has = lane.installed["torch"]
    if not any(requirement.specifier.contains(one, prereleases=True) for one in (has, f"{has}+{lane.wheels}")):
        message = f"found {requirement}, the lane {lane.name} ({lane.title}) has torch {has}"
        yield _error(line, message, f"Type: torch=={has}, or delete the line: the lane has it.")


def _torchvision(line: Line, requirement: "Requirement", lane: Lane) -> Iterator[Finding]:
    """A torchvision wheel requires one version of torch, and pip follows it."""
    minor = int(lane.installed["torch"].split(".")[1]) + TORCHVISION_AHEAD
    if not any(requirement.specifier.contains(f"0.{minor}.{patch}", prereleases=True) for patch in range(10)):
        message = (
            f"found {requirement}, which pulls in another torch than the lane's: torch {lane.installed['torch']} goes "
            f"with torchvision 0.{minor}"
        )
        yield _error(line, message, f"Type: torchvision==0.{minor}.*")


def _numpy(line: Line, requirement: "Requirement", lane: Lane) -> Iterator[Finding]:
    """Another version of the same major replaces the lane's and works; another major breaks what is built on it."""
    has = lane.installed["numpy"]
    if requirement.specifier.contains(has, prereleases=True):
        return
    major, message = has.partition(".")[0], f"found {requirement}, the lane {lane.name} has numpy {has}"
    same = [f"{major}.{minor}.{patch}" for minor in range(40) for patch in range(10)]
    if any(requirement.specifier.contains(one) for one in same):
        hint = "It will be replaced in your image. Delete the line to keep the lane's."
        yield Finding("warning", line.file, line.where, message, hint)
    else:
        yield _error(line, f"{message}, which torch is built for", f"Type: numpy>={major}, or delete the line.")


def _python(line: Line, requirement: "Requirement", lane: Lane) -> Iterator[Finding]:
    """pip installs no Python; who writes this wants a version of it."""
    message = f"found {requirement}, but pip cannot install Python; the lane {lane.name} has Python {lane.python}"
    yield _error(line, message, "Delete the line.")


def _error(line: Line, message: str, hint: str) -> Finding:
    return Finding("error", line.file, line.where, message, hint)


RULES = {"torch": _torch, "torchvision": _torchvision, "numpy": _numpy, "python": _python}
"""Package -> rule about it."""
