"""A Dockerfile as instructions with line numbers and stages, enough of the grammar to lint it.

See https://docs.docker.com/reference/dockerfile/: continuation lines, comments between them, the escape directive,
here-documents, and ARG values in FROM.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

INSTRUCTION = re.compile(
    r"ADD|ARG|CMD|COPY|ENTRYPOINT|ENV|EXPOSE|FROM|HEALTHCHECK|LABEL|MAINTAINER|ONBUILD|RUN|SHELL|STOPSIGNAL|USER|"
    r"VOLUME|WORKDIR"
)

_HEREDOC = re.compile(r"<<-?\s*([\"']?)([A-Za-z_][A-Za-z0-9_]*)\1")
_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?::?-([^}]*))?\})")


@dataclass(frozen=True)
class Instruction:
    """One instruction: its first line, its name in capitals, and its text with continuation lines joined."""

    line: int
    name: str
    text: str


@dataclass(frozen=True)
class Stage:
    """FROM and what follows it.

    Attributes:
        line: of the FROM.
        written: the image as written.
        image: the image with the defaults of ARG put in; None when an ARG without default decides it.
        by_argument: whether all of `written` is one ARG, which the build may set.
        name: after AS, or "".
        body: the instructions of the stage.
    """

    line: int
    written: str
    image: str | None
    by_argument: bool
    name: str
    body: tuple[Instruction, ...]


@dataclass(frozen=True)
class Dockerfile:
    """All instructions, and the same by stage."""

    instructions: tuple[Instruction, ...]
    stages: tuple[Stage, ...]


def parse(text: str) -> Dockerfile:
    """Parse a Dockerfile; what is not an instruction is kept as one with an unknown name."""
    instructions = tuple(_instructions(text))
    starts = [place for place, entry in enumerate(instructions) if entry.name == "FROM"]
    arguments = _defaults(instructions[: starts[0]] if starts else ())
    ends = [*starts[1:], len(instructions)]
    stages = (_stage(instructions[start:end], arguments) for start, end in zip(starts, ends, strict=False))
    return Dockerfile(instructions, tuple(stages))


def settings(entry: Instruction) -> Iterator[tuple[str, str]]:
    """Name and value of each setting of an ARG or ENV; "" without a value."""
    first = re.match(r"(\w+)\s+(.*)", entry.text, re.DOTALL)
    if entry.name == "ENV" and first and "=" not in entry.text.split()[0]:
        yield first[1], first[2]
        return
    for match in re.finditer(r"(\w+)(?:=(\"(?:\\.|[^\"])*\"|'[^']*'|\S*))?", entry.text):
        yield match[1], (match[2] or "").strip("\"'")


def _instructions(text: str) -> Iterator[Instruction]:
    lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]  # as Docker does, and no more
    more = re.compile(rf"{re.escape(_escape(lines))}\s*$")
    place = 0
    while place < len(lines):
        if not _is_text(lines[place]):
            place += 1
            continue
        start, whole, place = place, *_joined(lines, place, more)
        name, _, rest = whole.partition(" ")
        body, place = _heredocs(rest, lines, place) if name.upper() in ("RUN", "COPY", "ADD") else ("", place)
        yield Instruction(start + 1, name.upper(), f"{rest.strip()}{body}")


def _joined(lines: list[str], place: int, more: re.Pattern[str]) -> tuple[str, int]:
    """A line with its continuations (blank and comment lines between them do not count), and where the next starts."""
    parts: list[str] = []
    while place < len(lines):
        raw, place = lines[place], place + 1
        if _is_text(raw):
            parts.append(more.sub("", raw).strip())
            if not more.search(raw):
                break
    return " ".join(parts).strip().replace("\t", " "), place


def _is_text(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _escape(lines: list[str]) -> str:
    for line in lines:
        directive = re.match(r"#\s*(\w+)\s*=\s*(\S+)", line)
        if directive is None:
            break
        if directive[1].lower() == "escape":
            return directive[2]
    return "\\"


def _heredocs(rest: str, lines: list[str], place: int) -> tuple[str, int]:
    """The bodies of the here-documents that an instruction opens, and where the next instruction starts."""
    body = ""
    for _, end in _HEREDOC.findall(rest):
        while place < len(lines) and lines[place].strip() != end:
            body += f"\n{lines[place]}"
            place += 1
        place += 1
    return body, place


def _defaults(before_from: tuple[Instruction, ...]) -> dict[str, str | None]:
    """ARG name -> default; None when it has none."""
    found: dict[str, str | None] = {}
    for entry in before_from:
        if entry.name == "ARG":
            found.update({name: value or None for name, value in settings(entry)})
    return found


def _stage(entries: tuple[Instruction, ...], arguments: Mapping[str, str | None]) -> Stage:
    words = [word for word in entries[0].text.split() if not word.startswith("--")]
    written = words[0] if words else ""
    argument = _VARIABLE.fullmatch(written)
    name = words[2] if len(words) == 3 and words[1].upper() == "AS" else ""
    return Stage(
        line=entries[0].line,
        written=written,
        image=_substituted(written, arguments),
        by_argument=argument is not None and (argument[1] or argument[2]) in arguments,
        name=name,
        body=entries[1:],
    )


def _substituted(written: str, arguments: Mapping[str, str | None]) -> str | None:
    values = [arguments.get(match[1] or match[2]) or match[3] for match in _VARIABLE.finditer(written)]
    if any(value is None for value in values):
        return None
    found = iter(values)
    return _VARIABLE.sub(lambda _: str(next(found)), written)
