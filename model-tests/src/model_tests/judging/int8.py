"""The INT8 gates: the judge holds float32 against what it knows of these rows, and decides by the task's metric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from model_tests import int8
from model_tests.int8 import rows
from model_tests.int8.decision import FEWEST_ROWS, FEWEST_TO_PASS, Decision, decide
from model_tests.int8.losses import Losses, losses, lost_accuracy
from model_tests.judging import files
from model_tests.judging.files import Run
from model_tests.judging.gates import finite, gate
from model_tests.judging.reference import Reference
from model_tests.precision.candidates import FLOAT32, UNIT_ROUNDOFF
from model_tests.precision.errors import count_nonfinite, relative_l2
from model_tests.precision.transport import DamagedError
from model_tests.producing.checks import REPEATABLE
from model_tests.producing.evaluation import MOST_ROWS
from model_tests.spec import Int8Spec, Spec
from model_tests.verdict import Gate, Verdict

UNITS = {"kl": "nats", "accuracy": "share of labels", "signal": "share of the signal"}
# A layer that is to blame for less of the loss than this is not named: the loss is spread.
NAMED_SHARE = 0.2
NOT_RUN: Mapping[str, Any] = {"status": "error", "message": "it was not run", "kept": {}, "worst": []}
KINDS = {True: frozenset({torch.int64}), False: frozenset({torch.float32})}


@dataclass(frozen=True)
class Compared:
    """What the gates need: the float32 run that was proven, its inputs, and the reference when float32 agrees with it.

    `bound`: ν that may lie between float32 and the reference's fp64.
    """

    spec: Spec
    asked: Int8Spec
    produced: Path
    record: Mapping[str, dict[str, Any]]
    inputs: list[Tensor]
    found: Run
    reference: Reference | None
    bound: float

    def read(self, name: str, shape: tuple[int, ...] | None = None) -> Tensor:
        """Read a file of answers or labels; DamagedError when it is none, or larger than promised."""
        kinds = KINDS[bool(self.asked.evaluation)]
        found = files.run(self.produced, name, shape, kinds).output
        batch = self.spec.inputs[0].shape[0]
        if found.shape[0] > (MOST_ROWS if self.asked.evaluation else max(rows.LOOKS) + batch):
            raise DamagedError(f"{name}.pt has more rows than are asked for")
        return found


def int8_gates(c: Compared) -> tuple[list[Gate], dict[str, Any]]:
    """Return a gate and a row of facts (result.json's `int8`) for each scheme."""
    gates: list[Gate] = []
    facts: dict[str, Any] = {}
    for scheme in c.asked.schemes:
        row = c.record.get(scheme, NOT_RUN)
        found, decision, compared = _readable(c, scheme, row)
        gates.append(found)
        told = {key: row[key] for key in ("layers", "kept", "bytes_before", "bytes_after", "worst") if key in row}
        facts[scheme] = {"verdict": str(found.verdict), **told, **_numbers(decision, compared)}
    return gates, facts


def _readable(c: Compared, scheme: str, row: Mapping[str, Any]) -> tuple[Gate, Decision | None, Losses | None]:
    """Answers that cannot be read cost this gate alone: all others have files of their own."""
    try:
        return _gate(c, scheme, row)
    except DamagedError as error:
        params = {"scheme": scheme, "detail": str(error)}
        return gate(f"int8/{scheme}", Verdict.INCONCLUSIVE, "int8.damaged", params), None, None


def _gate(c: Compared, scheme: str, row: Mapping[str, Any]) -> tuple[Gate, Decision | None, Losses | None]:
    name, params = f"int8/{scheme}", {"scheme": scheme, "detail": row["message"], "layers": row.get("layers", 0)}
    if row["status"] == "evaluation":
        return gate(name, Verdict.FAIL, "int8.evaluation", params), None, None
    if row["status"] != "ok":
        return gate(name, Verdict.INCONCLUSIVE, "int8.not-run", params), None, None
    if not row.get("layers"):
        return gate(name, Verdict.NOT_APPLICABLE, "int8.nothing", params), None, None
    if count_nonfinite(c.found.output):
        return gate(name, Verdict.NOT_APPLICABLE, "int8.float32-not-finite", params), None, None
    wide = c.read(int8.FLOAT32)
    if count_nonfinite(wide):
        return gate(name, Verdict.INCONCLUSIVE, "int8.float32-not-finite", params), None, None
    narrow = c.read(f"int8-{scheme}", tuple(wide.shape))
    count = count_nonfinite(narrow)
    if count:
        params |= {"count": count, "values": narrow.numel()}
        return gate(name, Verdict.FAIL, "int8.not-finite", params), None, None
    if not c.asked.evaluation and not _known(c, wide):
        return gate(name, Verdict.INCONCLUSIVE, "int8.float32-differs", params), None, None
    compared = _losses(c, wide, narrow)
    looks = () if c.asked.evaluation else rows.looks(c.spec, wide[0])
    decision = decide(compared, c.asked.max_loss, looks)
    return _decided(c, name, row, params, compared, decision), decision, compared


def _known(c: Compared, wide: Tensor) -> bool:
    """Is the float32 of these rows the one that was proven? The first batch is; the last is held to the reference."""
    batch, logits = c.spec.inputs[0].shape[0], c.spec.output == "logits"
    first = rows.kept(c.found.output, logits)
    if wide.shape[1:] != first.shape[1:] or wide.shape[0] % batch:
        raise DamagedError(f"{int8.FLOAT32}.pt has rows of another shape than the model's answer")
    if relative_l2(wide[:batch], first) > REPEATABLE:
        return False
    number = wide.shape[0] // batch - 1
    if c.reference is None or not number:
        return True
    truth = rows.kept(c.reference.run(FLOAT32, rows.batch(c.spec, c.inputs, number)).output, logits)
    return relative_l2(wide[-batch:], truth) <= 2 * c.bound * UNIT_ROUNDOFF[torch.float32]


def _losses(c: Compared, wide: Tensor, narrow: Tensor) -> Losses:
    if c.asked.evaluation:
        return lost_accuracy(c.read(int8.LABELS, tuple(wide.shape)), wide, narrow)
    return losses(wide, narrow, c.spec.output == "logits")


def _decided(
    c: Compared, name: str, row: Mapping[str, Any], params: dict[str, Any], compared: Losses, decision: Decision | None
) -> Gate:
    metric = compared.metric
    few = compared.rows.numel() < FEWEST_ROWS if decision is None else decision.few
    if decision is None or few:
        params |= {"rows": compared.rows.numel(), "fewest": FEWEST_ROWS if metric == "accuracy" else FEWEST_TO_PASS}
        nothing = "int8.no-skill" if metric == "accuracy" else "int8.no-signal"
        return gate(name, Verdict.INCONCLUSIVE, "int8.few-rows" if few else nothing, params)
    params |= _numbers(decision, compared)
    params |= {"agreement": _percent(compared.agreement), "size": _size(row)}
    outcome = {Verdict.PASS: "passed", Verdict.FAIL: "lost"}.get(
        decision.verdict, "faint" if decision.faint else "open"
    )
    worst = row["worst"][0] if row["worst"] else None
    fault = None
    if decision.verdict is Verdict.FAIL:
        params["hint"] = "int8-spread"
        if worst and worst["share"] >= NAMED_SHARE:
            params |= {"hint": "int8-layer", "module": worst["name"], "share": _percent(worst["share"])}
            fault = c.found.calls.get((worst["name"], 0))
    numbers: dict[str, Any] = {"value": decision.value, "bound": decision.bound, "unit": UNITS[metric]}
    return gate(name, decision.verdict, f"int8.{metric}-{outcome}", params, fault=fault, **numbers)


def _numbers(decision: Decision | None, compared: Losses | None) -> dict[str, Any]:
    """The statistics as result.json has them."""
    if decision is None or compared is None:
        return {}
    told = {key: finite(getattr(decision, key)) for key in ("value", "bound", "low", "high", "visible")}
    found = {"metric": compared.metric, "rows": decision.rows, "agreement": compared.agreement}
    return {**found, "signal": finite(compared.signal), **told}


def _percent(share: float | None) -> float | None:
    return None if share is None else round(100 * share, 2)


def _size(row: Mapping[str, Any]) -> float | None:
    """Bytes in INT8 as a percentage of float32's."""
    before = row.get("bytes_before", 0)
    return _percent(row.get("bytes_after", 0) / before) if before else None
