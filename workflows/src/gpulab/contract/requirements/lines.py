"""The lines of requirements.txt and of the files that it includes, as pip joins them.

Format: https://pip.pypa.io/en/stable/reference/requirements-file-format/
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gpulab.contract.finding import Finding

REQUIREMENTS = "requirements.txt"
MOST_FILES = 20
_INCLUDE = re.compile(r"(?:-r|--requirement|-c|--constraint)[ =]*(\S+)")


@dataclass(frozen=True)
class Line:
    """One logical line: comments and pip's per-line options are gone, continued lines are joined."""

    file: str
    number: int
    text: str

    @property
    def where(self) -> str:
        """How a finding names it."""
        return f"line {self.number}"


def read_requirements(root: Path) -> tuple[list[Line], list[Finding]]:
    """All lines of requirements.txt and its includes inside `root`, and what is wrong with the files themselves.

    No requirements.txt is no finding here: a project may install in another way.
    """
    lines: list[Line] = []
    found: list[Finding] = []
    todo, seen = [REQUIREMENTS], set[str]()
    while todo and len(seen) < MOST_FILES:
        name = todo.pop(0)
        if name in seen:
            continue
        seen.add(name)
        text = _text(root, name)
        if text is None:
            if name != REQUIREMENTS:
                found.append(Finding("error", name, "", "an include that is not there", "Correct the -r line."))
            continue
        own = list(_lines(name, text))
        lines += own
        todo += [_included(root, name, match[1]) for line in own if (match := _INCLUDE.match(line.text))]
    return lines, found


def _text(root: Path, name: str) -> str | None:
    path = (root / name).resolve()
    if not path.is_relative_to(root.resolve()) or not path.is_file():
        return None
    return path.read_text(encoding="utf-8-sig", errors="replace")


def _included(root: Path, name: str, target: str) -> str:
    """An include is relative to the file that it stands in."""
    path = ((root / name).parent / target).resolve()
    return path.relative_to(root.resolve()).as_posix() if path.is_relative_to(root.resolve()) else target


def _lines(name: str, text: str) -> Iterator[Line]:
    joined, first = "", 0
    for number, raw in enumerate(text.splitlines(), start=1):
        first = first if joined else number
        if raw.endswith("\\"):
            joined += raw[:-1]
            continue
        line = _bare(joined + raw)
        joined = ""
        if line:
            yield Line(name, first, line)
    if _bare(joined):
        yield Line(name, first, _bare(joined))


def _bare(text: str) -> str:
    """Without the comment and without options behind a requirement (`--hash=…`)."""
    text = re.sub(r"(^|\s)#.*$", "", text).strip()
    return text if text.startswith("-") else re.sub(r"\s+--[a-z-]+[ =]\S+", "", text).strip()
