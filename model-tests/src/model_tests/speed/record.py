"""The speed table of record.json: written by the parent of the sides, read by the judge, who believes nothing in it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from model_tests.speed.baselines import NAMES
from model_tests.speed.decision import AGAIN, CANDIDATE, LOOKS
from model_tests.untrusted import line, mapping

SIDES = (CANDIDATE, AGAIN, *NAMES)
PERCENTILES = (10, 25, 50, 75, 90)
ENDED = ("decided", "hopeless", "rounds", "budget", "failed", "memory", "stopped")
# A 99th percentile of fewer values is their maximum.
FEWEST_FOR_P99 = 1000
# Nothing that is timed here takes less than a nanosecond, or ten days.
SECONDS = (1e-9, 1e6)


def side_record(row: Mapping[str, Any], seconds: Sequence[float]) -> dict[str, Any]:
    """Return a side's row with its latencies in seconds, under the names that `vllm bench latency` uses."""
    if len(seconds) < 2:
        return dict(row)
    cuts = statistics.quantiles(seconds, n=100, method="inclusive")
    wanted = (*PERCENTILES, 99) if len(seconds) >= FEWEST_FOR_P99 else PERCENTILES
    latencies = {"avg_latency": statistics.fmean(seconds), "num_iters": len(seconds)}
    return {**row, **latencies, "percentiles": {str(percent): cuts[percent - 1] for percent in wanted}}


@dataclass(frozen=True)
class SideFacts:
    """What a side says of itself; numbers are None when it said none."""

    ok: bool
    message: str = ""
    finite: bool = True
    operations: float | None = None
    weights_bytes: float | None = None
    latency: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Measured:
    """A speed phase: blocks in seconds per forward, one per round, the same number for each side that went on.

    `second`: the same of fresh processes, where the first seemed slower and there was time.
    """

    ended: str
    message: str
    seconds: float
    sides: dict[str, SideFacts]
    blocks: dict[str, list[float]]
    gemm_rate: float | None
    second: Measured | None = None

    @property
    def rounds(self) -> int:
        """How often every side had its turn."""
        return min((len(times) for times in self.blocks.values()), default=0)


def read(raw: object) -> Measured | None:
    """Read the table; None when there is none, or what is there was not written by us."""
    first = _start(raw)
    return first and replace(first, second=_start(mapping(raw).get("second")))


def _start(raw: object) -> Measured | None:
    if not isinstance(raw, dict) or raw.get("ended") not in ENDED:
        return None
    blocks = {name: times for name in SIDES if (times := _times(mapping(raw.get("blocks")).get(name))) is not None}
    if len({len(times) for times in blocks.values()}) > 1:
        return None
    if not {CANDIDATE, AGAIN} <= set(blocks):
        blocks = {}
    sides = {name: _side(row) for name in SIDES if (row := mapping(mapping(raw.get("sides")).get(name)))}
    gemm = mapping(raw.get("gemm"))
    operations, seconds = positive(gemm.get("operations")), positive(gemm.get("seconds"), *SECONDS)
    rate = operations / seconds if operations and seconds else None
    took = positive(raw.get("seconds"), *SECONDS) or 0.0
    return Measured(raw["ended"], line(raw.get("message")), took, sides, blocks, rate)


def _side(row: Mapping[str, Any]) -> SideFacts:
    percentiles = mapping(row.get("percentiles"))
    known = {
        name: value for name in (*map(str, PERCENTILES), "99") if (value := positive(percentiles.get(name), *SECONDS))
    }
    average, count = positive(row.get("avg_latency"), *SECONDS), positive(row.get("num_iters"))
    latency = {"avg_latency": average, "num_iters": int(count), "percentiles": known} if average and count else {}
    return SideFacts(
        ok=row.get("status") == "ok",
        message=line(row.get("message")),
        finite=row.get("finite", True) is True,
        operations=positive(row.get("operations")),
        weights_bytes=positive(row.get("weights_bytes")),
        latency=latency,
    )


def _times(raw: object) -> list[float] | None:
    if not isinstance(raw, list) or len(raw) > LOOKS[-1]:
        return None
    times = [positive(item, *SECONDS) for item in raw]
    return None if None in times else [time for time in times if time is not None]


def positive(raw: object, least: float = 0.0, most: float = 1e30) -> float | None:
    """Return a number between these, None for anything else: quotients and logarithms of what is left are finite."""
    number = isinstance(raw, int | float) and not isinstance(raw, bool) and least < raw < most
    return float(raw) if number else None  # type: ignore[arg-type]  # it is a number
