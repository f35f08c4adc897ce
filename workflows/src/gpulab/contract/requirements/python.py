"""Which Python a project asks for in pyproject.toml or .python-version, against the lane's."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from gpulab.contract.finding import Finding
from gpulab.contract.lanes import Lane
from gpulab.contract.words import shown

VERSION_FILE, PROJECT_FILE = ".python-version", "pyproject.toml"

PATCHES = 40
"""Patch releases that a minor version may come to."""


def read_python(root: Path) -> dict[str, str]:
    """File -> what it asks for (a version, or a specifier); files that say nothing are left out."""
    wanted = {VERSION_FILE: _python_version(root), PROJECT_FILE: _requires_python(root)}
    return {file: text for file, text in wanted.items() if text}


def python_conflicts(wanted: Mapping[str, str], lane: Lane) -> Iterator[Finding]:
    """An error for each file that asks for a Python which the lane has not."""
    for file, text in wanted.items():
        spec = file == PROJECT_FILE
        if not (_accepts(text, lane.python) if spec else _same(text, lane.python)):
            message = f"found {shown(text)}, the lane {lane.name} has Python {lane.python}"
            hint = f'Type: requires-python = ">={lane.python}"' if spec else f"Type: {lane.python}"
            yield Finding("error", file, "[project] requires-python" if spec else "", message, hint)


def _python_version(root: Path) -> str:
    try:
        text = (root / VERSION_FILE).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
    found = re.search(r"^(?:cpython-?)?(\d+\.\d+(?:\.\d+)?)\s*$", text, re.MULTILINE)
    return found[1] if found else ""


def _requires_python(root: Path) -> str:
    try:
        document = tomllib.loads((root / PROJECT_FILE).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return ""
    project = document.get("project")
    spec = project.get("requires-python") if isinstance(project, dict) else None
    return spec if isinstance(spec, str) else ""


def _same(wanted: str, python: str) -> bool:
    """The same minor version, whatever the patch."""
    return wanted.split(".")[:2] == python.split(".")[:2]


def _accepts(spec: str, python: str) -> bool:
    """Whether some patch release of `python` is allowed; a specifier that is none is pip's business."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        allowed = SpecifierSet(spec)
    except InvalidSpecifier:
        return True
    return any(allowed.contains(f"{python}.{patch}") for patch in range(PATCHES))
