"""result.json as a value: gates combined to a verdict, an exit code and one line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from model_tests.judging.gates import gate
from model_tests.verdict import Cause, Gate, Verdict, combine, exit_code

SCHEMA = "gpulab/verify/v1"
# A result is a PASS only when all of these were decided; a course may judge milder, not the platform.
REQUIRED = ("smoke", "batch-1", "fp32/*", "census/*", "finite/*", "precision/*")
LONGEST_MESSAGE = 300


@dataclass
class Result:
    """result.json and golden.json as values; `golden` None when there is nothing to send."""

    content: dict[str, Any]
    golden: dict[str, Any] | None = None

    @classmethod
    def of(cls, accelerator: str, gates: Sequence[Gate], cause: Cause = "gate", **tables: Any) -> Result:
        """Combine gates to a result; an input error is a FAIL, trouble of the platform INCONCLUSIVE."""
        asked = ("int8/*",) if any(g.name.startswith("int8/") for g in gates) else ()
        verdict = combine(gates, (*REQUIRED, *asked))
        if cause != "gate":
            verdict = Verdict.FAIL if cause == "input" else Verdict.INCONCLUSIVE
        head: dict[str, Any] = {"schema": SCHEMA, "accelerator": accelerator, "verdict": str(verdict)}
        head |= {"exit_code": exit_code(verdict, cause), "message": message(verdict, gates)}
        empty: dict[str, Any] = {"device": {"kind": "", "name": ""}, "fp32": None, "modules": {}, "census": {}}
        empty |= {"timing": {}, "memory": None, "environment": {}}
        return cls({**head, "gates": [g.to_dict() for g in gates], **empty, **tables})

    @classmethod
    def refused(cls, accelerator: str, key: str, params: dict[str, Any], **tables: Any) -> Result:
        """Return the result of a student's input error."""
        return cls.of(accelerator, [gate("smoke", Verdict.FAIL, key, params)], "input", **tables)

    @classmethod
    def trouble(cls, accelerator: str, detail: str, **tables: Any) -> Result:
        """Return the result of the platform's trouble."""
        smoke = gate("smoke", Verdict.INCONCLUSIVE, "platform.error", {"detail": detail})
        return cls.of(accelerator, [smoke], "platform", **tables)


def message(verdict: Verdict, gates: Sequence[Gate]) -> str:
    """Return one line: the verdict and its first reason."""
    if verdict is Verdict.PASS:
        return f"PASS: {sum(g.verdict is Verdict.PASS for g in gates)} gates passed"
    first = next((g for g in gates if g.verdict is verdict), None)
    text = f"{verdict}: {first.name}: {first.why}" if first else f"{verdict}: a required gate is missing"
    return text if len(text) <= LONGEST_MESSAGE else text[: LONGEST_MESSAGE - 1] + "…"
