"""The verdict algebra: four outcomes of a gate, their combination, and the exit code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, Literal

Cause = Literal["gate", "input", "platform"]


class Verdict(StrEnum):
    """Outcome of a gate or of a run. NOT APPLICABLE never blocks; INCONCLUSIVE never costs points."""

    PASS = "PASS"  # noqa: S105 - a verdict, not a password
    FAIL = "FAIL"
    INCONCLUSIVE = "INCONCLUSIVE"
    NOT_APPLICABLE = "NOT APPLICABLE"


@dataclass(frozen=True)
class Gate:
    """One decision: what was measured, against which bound, where, why, and what to change.

    `value` and `bound` are in `unit` (None: nothing to compare); `module` and `shape` name the first module at fault;
    `key` and `params` give the sentences in other languages (model_tests.messages.explain).
    """

    name: str
    verdict: Verdict
    value: float | None = None
    bound: float | None = None
    unit: str = ""
    module: str | None = None
    shape: tuple[int, ...] | None = None
    key: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    why: str = ""
    change: str = ""

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return asdict(self) | {"verdict": str(self.verdict), "shape": None if self.shape is None else list(self.shape)}

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> Gate:
        """Read the JSON form; keys that others added (`accelerator`) are left out."""
        known = {key: value for key, value in raw.items() if key in cls.__dataclass_fields__}
        shape = known.get("shape")
        known |= {"verdict": Verdict(raw["verdict"]), "shape": None if shape is None else tuple(shape)}
        return cls(**known)


def combine(gates: Iterable[Gate], required: Sequence[str] = ()) -> Verdict:
    """FAIL if a gate fails; else INCONCLUSIVE if a required one is, or is missing; else PASS (design.md, The verdict).

    `required` holds names or glob patterns of names. NOT APPLICABLE satisfies a requirement.
    """
    gates = list(gates)
    if any(gate.verdict is Verdict.FAIL for gate in gates):
        return Verdict.FAIL
    for pattern in required:
        matching = [gate for gate in gates if fnmatchcase(gate.name, pattern)]
        if not matching or any(gate.verdict is Verdict.INCONCLUSIVE for gate in matching):
            return Verdict.INCONCLUSIVE
    return Verdict.PASS


def exit_code(verdict: Verdict, cause: Cause = "gate") -> int:
    """0 pass or inconclusive, 1 a gate failed, 2 the user's input, 3 the platform (retryable)."""
    if cause == "platform":
        return 3
    if cause == "input":
        return 2
    return 1 if verdict is Verdict.FAIL else 0
