"""One problem (or remark) about a project, in words: what `gpulab check` prints and what the plan refuses with."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from gpulab.errors import InputError

Level = Literal["error", "warning", "info"]

LAB = "lab.toml"

LEVELS: tuple[Level, ...] = ("error", "warning", "info")
"""In the order in which they are told."""


@dataclass(frozen=True)
class Finding:
    """What is wrong, where, and what to type next.

    Attributes:
        level: an error stops the run; a warning and an info do not.
        file: path inside the project.
        where: key, line or resource inside the file; "" when the file itself is meant.
        message: what was found and what is allowed, one line.
        hint: what to do or type next, one line; "" when there is nothing to do.
    """

    level: Level
    file: str
    where: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        """`file: where: message. hint`, always one line."""
        place = ": ".join(part for part in (self.file, self.where) if part)
        message = self.message if self.message.endswith((".", "?", "!")) else f"{self.message}."
        return " ".join(" ".join(part for part in (f"{place}: {message}", self.hint) if part).split())


def wrong(where: str, message: str, hint: str) -> Finding:
    """An error in `lab.toml`."""
    return Finding("error", LAB, where, message, hint)


class ContractError(InputError):
    """The project breaks the contract: the user's input, exit code 2.

    Attributes:
        problems: every problem found, each one line when turned into text.
    """

    def __init__(self, problems: Iterable[Finding]):
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


def errors_of(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Only those that stop a run."""
    return tuple(finding for finding in findings if finding.level == "error")


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Errors first, then by file; within a file in the order found. Repeated findings are told once."""
    return sorted(dict.fromkeys(findings), key=lambda finding: (LEVELS.index(finding.level), finding.file))
