"""One line of the doctor's answer."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

Level = Literal["PASS", "FAIL", "WARN"]


@dataclass(frozen=True)
class Check:
    """What was looked at, how it is, and what to do.

    Attributes:
        level: a FAIL keeps pushes from being judged; a WARN does not.
        name: what was looked at, e.g. `tenant gpu-lab-1: Secret gpulab-forge`.
        found: how it is, one line; never a Secret's value.
        fix: what to type or change next; empty when nothing is to be done.
    """

    level: Level
    name: str
    found: str
    fix: str = ""

    def __str__(self) -> str:
        """`FAIL name: found. fix`, one line."""
        line = f"{self.level} {self.name}: {self.found}"
        return " ".join((line if not self.fix or line.endswith(".") else f"{line}.", self.fix)).strip()

    def document(self) -> dict[str, str]:
        """For `--json`."""
        return asdict(self)


def judged(name: str, found: str, missing: Iterable[str], fix: str) -> Check:
    """PASS, or FAIL with what is missing."""
    lacking = sorted(missing)
    return Check("FAIL", name, f"missing: {', '.join(lacking)}", fix) if lacking else Check("PASS", name, found)
