"""The speed phase of `produce`: sides start, warm up, and take turns until it is decided or the budget is used up.

Nothing that happens here can spoil what was produced before: every end is a record.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from model_tests.spec import Spec
from model_tests.speed import decision
from model_tests.speed.blocks import Size, order, size
from model_tests.speed.decision import AGAIN, CANDIDATE, Comparison
from model_tests.speed.record import side_record
from model_tests.speed.sides import GIB, Ended, PhaseEndError, Sides
from model_tests.speed.warmup import warm

WARM_UP_STEPS = 5
# What an answer at the end may take beyond the budget.
GRACE_SECONDS = 10.0


class Turns:
    """One speed phase: `run` starts all sides, and starts them again when one seems slower.

    Args:
        commands: the command of each side, `candidate` and `again` first; the other names are baselines.
        seed: of the order of turns.
    """

    def __init__(self, spec: Spec, commands: Mapping[str, Sequence[str]], stop: threading.Event, seed: int) -> None:
        self.spec, self.commands, self.stop, self.seed = spec, commands, stop, seed
        self.until = time.monotonic() + spec.budget_seconds

    def run(self, environment: Mapping[str, str], log: Path) -> dict[str, Any]:
        """Run all of it; the record of what was measured, whatever happened.

        What a process keeps for its life (where its memory lies) is no slowdown: a regression must show in fresh ones.
        """
        first = Start(self, self.commands, block=0)
        record = first.run(environment, log)
        slower = first.slower()
        if not slower or self.stop.is_set() or time.monotonic() > self.until:
            return record
        again = {name: command for name, command in self.commands.items() if name in (CANDIDATE, AGAIN, *slower)}
        return record | {"second": Start(self, again, block=decision.LOOKS[-1]).run(environment, log)}


class Start:
    """One start of some of the sides; `block` is the number of its first, which the inputs follow."""

    def __init__(self, phase: Turns, commands: Mapping[str, Sequence[str]], block: int) -> None:
        self.spec, self.commands, self.seed, self.block = phase.spec, commands, phase.seed, block
        self.bound, self.baselines = decision.bound_of(phase.spec.max_slowdown), len(phase.commands) - 2
        self.sides = Sides(phase.spec.memory_gib * GIB, phase.stop, phase.until)
        self.blocks: dict[str, list[float]] = {}
        self.steps: dict[str, list[float]] = {}
        self.gemm: dict[str, float] = {}
        self.size = Size(1, 1)

    def run(self, environment: Mapping[str, str], log: Path) -> dict[str, Any]:
        """Return the record of what was measured, whatever happened."""
        started = time.monotonic()
        ended: Ended
        try:
            self.sides.start(self.commands, environment, log)
            ended, message = self._phases(), ""
        except PhaseEndError as end:
            ended, message = end.ended, str(end)
        except OSError as error:
            ended, message = "failed", f"a side could not be started: {error.strerror}"
        finally:
            self.sides.end()
        head = {"ended": ended, "message": message, "seconds": round(time.monotonic() - started, 2)}
        head |= {"steps": self.size.steps, "repeat": self.size.repeat, "gemm": self.gemm}
        sides = {name: side_record(row, self.steps.get(name, [])) for name, row in self.sides.records.items()}
        blocks = {name: times for name, times in self.blocks.items() if sides[name]["status"] == "ok"}
        return {**head, "sides": sides, "blocks": blocks}

    def slower(self) -> list[str]:
        """Return the baselines that the candidate seems to be slower than."""
        return [name for name, one in self._compared().items() if one.answer == "regression"]

    def _compared(self) -> dict[str, Comparison]:
        rounds = len(self.blocks.get(CANDIDATE, ()))
        if rounds < decision.LEAST_ROUNDS or not {CANDIDATE, AGAIN} <= set(self.sides.alive):
            return {}
        return {name: decision.compare(self.blocks, name, self.bound, self.baselines) for name in self.sides.baselines}

    def _phases(self) -> Ended:
        self.gemm = self._gemm()
        for name, reply in self.sides.ask_all("load").items():
            self.sides.records[name] |= {key: reply.said.get(key) for key in ("operations", "weights_bytes")}
        forwards = [self._warm_up(name) for name in list(self.sides.alive)]
        self.size = size([seconds for seconds in forwards if seconds], self.spec)
        ended = self._rounds()
        for name in (CANDIDATE, AGAIN):
            self.sides.ask(name, "answer", time.monotonic() + GRACE_SECONDS)
        return ended

    def _gemm(self) -> dict[str, float]:
        reply = self.sides.ask(CANDIDATE, "gemm")
        if reply is None or len(reply.steps) < 2:
            return {}
        # The second best: the best may be two marks that were read as one.
        return {"operations": float(reply.said["operations"]), "seconds": sorted(reply.steps)[1]}

    def _warm_up(self, name: str) -> float:
        """Run until the times no longer fall; the median of the last ones in seconds, 0 when the side is out."""
        times: list[float] = []
        while not warm(times):
            reply = self.sides.ask(name, "run", block=-1 - len(times), steps=WARM_UP_STEPS, repeat=1)
            if reply is None:
                return 0.0
            times += reply.steps
        return statistics.median(times[-WARM_UP_STEPS:])

    def _rounds(self) -> Ended:
        """Let the sides take turns, in another order each round, all with the same inputs."""
        took = 0.0
        for number in range(decision.LOOKS[-1]):
            started = time.monotonic()
            if started + took > self.sides.until:
                return "budget"
            self.sides.watch()
            self._round(number)
            took = time.monotonic() - started
            if number + 1 in decision.LOOKS and (ended := self._look(took)):
                return ended
        return "rounds"

    def _round(self, number: int) -> None:
        """One block of each side. A block that a side did not end counts for none; a round counts for all or for none.

        On a busy machine several marks are read as one, and the steps between them seem to take no time.
        """
        found: dict[str, list[float]] = {}
        number += self.block
        for name in order(list(self.sides.alive), self.seed, number):
            reply = self.sides.ask(name, "run", block=number, steps=self.size.steps, repeat=self.size.repeat)
            if reply is None:
                continue
            if len(reply.steps) != self.size.steps:
                raise PhaseEndError("failed", f"{name} did not mark its steps as the harness does")
            found[name] = [step / self.size.repeat for step in reply.steps]
            row = self.sides.records[name]
            row["finite"] = row.get("finite", True) and bool(reply.said.get("finite"))
        if any(statistics.median(steps) <= 0 for steps in found.values()):
            return
        for name, steps in found.items():
            self.blocks.setdefault(name, []).append(statistics.median(steps))
            self.steps.setdefault(name, []).extend(steps)

    def _look(self, took: float) -> Ended | None:
        """Is every baseline that is left decided, or are all others beyond what the time that is left can decide?"""
        found = self._compared()
        if not found:
            return None
        rounds = len(self.blocks[CANDIDATE])
        undecided = [one for one in found.values() if not one.decided]
        most = min(rounds + int((self.sides.until - time.monotonic()) / took), decision.LOOKS[-1])
        if all(one.hopeless(self.bound, rounds, max(most, rounds)) for one in undecided):
            return "hopeless" if undecided else "decided"
        return None
