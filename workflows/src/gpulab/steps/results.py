"""From what a run left under its prefix to `results.json`: every gate, the verdict, the reason.

Nothing here reads another step's outputs: a missing file is INCONCLUSIVE, whatever became of the pod.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from model_tests.verdict import Gate, Verdict, combine

from gpulab.contract.plan import SCHEMA as PLAN_SCHEMA
from gpulab.steps.gates import gate, read_gates
from gpulab.steps.junit import read_junit

SCHEMA = "gpulab/results/v1"
VERIFY_SCHEMA = "gpulab/verify/v1"
REQUIRED = ("contract", "image", "tests", "smoke", "batch-1", "fp32/*", "census/*", "finite/*", "precision/*")
"""Gates that must be there; these and all others that are there must be decided."""

INFORMATION_ONLY = ("benchmark", "speed/*")
"""Patterns of gates that need not be decided: a proven slowdown fails the run, one that could not be told does not."""


@dataclass(frozen=True)
class RunFacts:
    """What the workflow knows about the run; phases are Argo's words."""

    project: str
    revision: str
    ref: str
    run: str
    image_status: str
    tests_status: str
    verify_status: str


def collect(folder: Path, facts: RunFacts) -> dict[str, Any]:
    """The whole record of a run (`gpulab/results/v1`), times and provenance aside."""
    record = _judged(folder / "image.json") or {}
    plan = _document(folder / "plan.json") if record.get("image") else None
    gates = read_gates(record) or [missing("image", facts.image_status)]
    tests = read_junit(folder / "tests" / "junit.xml")
    verify = {name: _verified(folder, name) for name in _accelerators(plan)}
    if record.get("image"):
        gates.append(tests_gate(facts.tests_status, tests))
    marked: list[tuple[Gate, str | None]] = [(one, None) for one in gates]
    for accelerator, result in verify.items():
        marked += [(one, accelerator) for one in _verify_gates(result, facts.verify_status)]
    present = [one.name for one, _ in marked if not _information(one.name)]
    verdict = combine([one for one, _ in marked], required=(*REQUIRED, *present))
    code = exit_code(verdict, record, verify)
    return {
        "schema": SCHEMA,
        "run": facts.run,
        "project": record.get("project") or {"slug": facts.project},
        "revision": facts.revision,
        "ref": facts.ref,
        "verdict": str(verdict),
        "exit_code": code,
        "summary": summary(verdict, marked),
        "gates": [one.to_dict() | ({"accelerator": name} if name else {}) for one, name in marked],
        "verify": {name: result for name, result in verify.items() if result},
        "tests": tests,
        "image": record.get("image"),
        "plan": plan,
        "reproduce": f"gpulab run {facts.revision[:12]}",
    }


def _information(name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in INFORMATION_ONLY)


def _document(path: Path) -> dict[str, Any] | None:
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None


def _judged(path: Path) -> dict[str, Any] | None:
    """A document with gates; None also when it is damaged: then it says nothing."""
    document = _document(path)
    return document if document and read_gates(document) is not None else None


def _accelerators(plan: Mapping[str, Any] | None) -> list[str]:
    named = plan.get("accelerators") if plan and plan.get("schema") == PLAN_SCHEMA else None
    return named if isinstance(named, list) and all(isinstance(one, str) for one in named) else []


def _verified(folder: Path, accelerator: str) -> dict[str, Any] | None:
    document = _judged(folder / "verify" / f"{accelerator}.json")
    return document if document and document.get("schema") == VERIFY_SCHEMA else None


def _verify_gates(result: Mapping[str, Any] | None, status: str) -> list[Gate]:
    return (read_gates(result) if result else None) or [missing("verify", status)]


def missing(name: str, status: str) -> Gate:
    """A result that should be there and is not: INCONCLUSIVE, because it says nothing about the code."""
    return gate(name, Verdict.INCONCLUSIVE, "platform.missing-result", f"{name}: {status or 'unknown'}")


def tests_gate(status: str, counts: Mapping[str, Any] | None) -> Gate:
    """The project's own tests. Without a report nobody knows why they ended: INCONCLUSIVE."""
    if counts is None:
        return missing("tests", status)
    if status == "Succeeded" and counts["failed"] == 0:
        return gate("tests", Verdict.PASS, "tests.passed", f"{counts['total']} tests passed", 0, "failed tests")
    if counts["failed"] == 0 and status != "Failed":
        return missing("tests", status)
    if counts["total"] == 0:
        return gate("tests", Verdict.FAIL, "tests.failed", "no test ran: tests/ holds none", 1, "failed tests")
    first = counts["failures"][0] if counts["failures"] else {"name": "the run itself", "message": ""}
    detail = f"{counts['failed']} of {counts['total']} failed, first {first['name']}: {first['message']}".rstrip(": ")
    return gate("tests", Verdict.FAIL, "tests.failed", detail, counts["failed"], "failed tests")


def exit_code(verdict: Verdict, record: Mapping[str, Any], verify: Mapping[str, Mapping[str, Any] | None]) -> int:
    """0 pass, 1 a gate failed, 2 the student's input, 3 not measurable or the platform's trouble."""
    if verdict == Verdict.PASS:
        return 0
    if verdict == Verdict.INCONCLUSIVE:
        return 3
    results = [result for result in verify.values() if result]
    is_input = record.get("exit_code") == 2 or any(result.get("exit_code") == 2 for result in results)
    return 2 if is_input else 1


def summary(verdict: Verdict, gates: list[tuple[Gate, str | None]]) -> str:
    """One line: the verdict and its first reason."""
    if verdict == Verdict.PASS:
        return f"PASS: {sum(one.verdict == Verdict.PASS for one, _ in gates)} gates passed"
    blocking = [(one, name) for one, name in gates if one.verdict == verdict]
    if not blocking:
        return f"{verdict}: a required result is missing"
    one, accelerator = blocking[0]
    where = f" on {accelerator}" if accelerator else ""
    return f"{verdict}: {one.name}{where}: {one.why}"
