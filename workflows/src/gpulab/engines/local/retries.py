"""`retryStrategy`: again, later, or never (Argo: workflow/controller/operator.go, processNodeRetries).

One thing is done in another order, with the same end: Argo waits out the backoff before it asks whether to try again.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gpulab.engines.local.expressions import retry_holds
from gpulab.engines.local.record import seconds
from gpulab.engines.protocol import Json, NodeStatus, Phase

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True)
class Decision:
    """What becomes of a Retry node whose last attempt has ended.

    Attributes:
        phase: the final phase, None to try again.
        wait_until: POSIX time before which the next attempt does not start.
        deadline: POSIX time at which the next attempt is stopped, None for never.
    """

    phase: Phase | None = None
    message: str = ""
    wait_until: float = 0.0
    deadline: float | None = None


def duration(text: str) -> float:
    """Seconds of `10s`, `1h30m`, `300ms` or a bare number; ValueError for anything else."""
    if re.fullmatch(r"\d+", text, re.ASCII):
        return float(text)
    if not re.fullmatch(rf"(?:{_DURATION.pattern})+", text, re.ASCII):
        raise ValueError(f"{text!r} is no duration like 10s or 1m30s")
    return sum(float(number) * _UNITS[unit] for number, unit in _DURATION.findall(text))


def decide(strategy: Json, attempts: Sequence[NodeStatus]) -> Decision:
    """Decide after the last of `attempts` has ended.

    Raises:
        ExpressionError: the expression cannot be evaluated.
    """
    last = attempts[-1]
    if not last.phase.bad:
        return Decision(Phase.SUCCEEDED)
    policy = strategy.get("retryPolicy") or ("Always" if strategy.get("expression") else "OnFailure")
    if policy != "Always" and policy != {Phase.FAILED: "OnFailure", Phase.ERROR: "OnError"}[last.phase]:
        return Decision(last.phase, last.message)
    if "limit" in strategy and len(attempts) > int(strategy["limit"]):
        return Decision(last.phase, "No more retries left")
    if strategy.get("expression") and not retry_holds(strategy["expression"], _variables(attempts)):
        return Decision(last.phase, "retryStrategy.expression evaluated to false")
    return _backoff(strategy.get("backoff") or {}, attempts)


def _variables(attempts: Sequence[NodeStatus]) -> dict[str, str]:
    last = attempts[-1]
    return {
        "retries": str(len(attempts) - 1),
        "lastRetry.exitCode": str(last.outputs.get("exitCode", "-1")),
        "lastRetry.status": str(last.phase),
        "lastRetry.duration": str(seconds(last.finished_at) - seconds(last.started_at)),
        "lastRetry.message": last.message,
    }


def _backoff(backoff: Json, attempts: Sequence[NodeStatus]) -> Decision:
    last = attempts[-1]
    wait = duration(str(backoff.get("duration", "0")))
    if factor := int(backoff.get("factor") or 0):
        wait *= factor ** (len(attempts) - 1)
    if "cap" in backoff:
        wait = min(wait, duration(str(backoff["cap"])))
    until = seconds(last.finished_at) + wait
    if "maxDuration" not in backoff:
        return Decision(wait_until=until)
    deadline = seconds(attempts[0].started_at) + duration(str(backoff["maxDuration"]))
    if until > deadline:
        return Decision(last.phase, "Backoff would exceed max duration limit")
    return Decision(wait_until=until, deadline=deadline)
