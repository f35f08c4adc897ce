"""After precision: the candidate and the baselines take turns. The record is written before, and again after."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model_tests.producing.supervise import sigterm
from model_tests.spec import Spec
from model_tests.speed.baselines import Baseline, comparable, from_plan
from model_tests.speed.decision import AGAIN, CANDIDATE
from model_tests.speed.turns import Turns

ANSWERS = (f"speed-{CANDIDATE}", f"speed-{AGAIN}")


@dataclass(frozen=True)
class Place:
    """Where things lie: the plan, the drawn inputs, the baselines' sources, and the folder for what is produced."""

    spec_file: Path
    inputs: Path
    baselines: Path
    out: Path


def measure(
    spec: Spec, place: Place, folder: Path, accelerator: str, sources: Sequence[str], environment: Mapping[str, str]
) -> dict[str, Any] | None:
    """Time the candidate against the baselines of its plan; None when there is none to be compared with.

    `folder` gets the answers that the candidate's two copies give at the end.
    """
    baselines = comparable(from_plan(place.spec_file))
    if not baselines:
        return None
    seed = secrets.randbits(31)  # nobody knows before which inputs come
    own = Baseline(CANDIDATE, factory=spec.factory, seed=spec.seed)
    commands = {
        name: _command(own, place, accelerator, sources, folder / f"speed-{name}.pt", seed)
        for name in (CANDIDATE, AGAIN)
    }
    for one in baselines:
        older = [str(place.baselines / one.name / "src")]
        commands[one.name] = _command(one, place, accelerator, older, folder / "unused.pt", seed)
    with sigterm() as stop:
        return Turns(spec, commands, stop, seed).run(environment, place.out / "log.txt")


def _command(
    side: Baseline, place: Place, accelerator: str, sources: Sequence[str], answer: Path, seed: int
) -> list[str]:
    module = [sys.executable, "-P", "-m", "model_tests.speed.run_side", "--spec", str(place.spec_file)]
    paths = ["--inputs", str(place.inputs), "--answer", str(answer), "--accelerator", accelerator]
    seeds = ["--weights-seed", str(side.seed), "--inputs-seed", str(seed)]
    return [*module, *paths, "--factory", side.factory, *seeds, *(f"--source={source}" for source in sources)]
