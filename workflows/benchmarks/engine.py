"""What the local engine itself costs: workflows of steps that do nothing."""

import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clock import Spent, median, spent
from gpulab.engines.local.client import LocalEngine
from gpulab.engines.local.settings import EngineSettings

IMAGE = "steps:bench"
COMMAND = [sys.executable, "-I", "-S", "-c", "pass"]
STEPS = 10
names = itertools.count()


def template(steps: int) -> dict[str, Any]:
    """A workflow of steps, one after another."""
    one = {"name": "nothing", "container": {"image": IMAGE, "command": COMMAND[:1], "args": COMMAND[1:]}}
    chain = {"name": "chain", "steps": [[{"name": f"s{n}", "template": "nothing"}] for n in range(steps)]}
    return _workflow([one, chain], "chain")


def fan_out(items: int) -> dict[str, Any]:
    """A workflow that does the same for each of so many models."""
    container = {"image": IMAGE, "command": COMMAND[:1], "args": COMMAND[1:]}
    one = {"name": "nothing", "inputs": {"parameters": [{"name": "model"}]}, "container": container}
    given = {"parameters": [{"name": "model", "value": "{{item}}"}]}
    listed = json.dumps([f"m{n}" for n in range(items)])
    each = {"name": "each", "template": "nothing", "arguments": given, "withParam": listed}
    return _workflow([one, {"name": "all", "dag": {"tasks": [each]}}], "all")


def _workflow(templates: list[dict[str, Any]], entrypoint: str) -> dict[str, Any]:
    spec = {"entrypoint": entrypoint, "templates": templates}
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "WorkflowTemplate",
        "metadata": {"name": "bench"},
        "spec": spec,
    }


def follow(folder: Path, workflow: dict[str, Any]) -> None:
    """Run a workflow, one pod at a time, from submit to the end as a follower sees it."""
    engine = LocalEngine(EngineSettings(str(folder / "engine"), platform_images=(IMAGE,), limit=1))
    name = f"bench-{next(names)}"
    engine.submit(name, workflow, {})
    last = [*engine.follow(name)][-1]
    if last.phase != "Succeeded":
        raise SystemExit(f"the benchmark's workflow ended {last.phase}: {last.message}")


def run(folder: Path, steps: int) -> None:
    """Run so many steps."""
    follow(folder, template(steps))


def alone() -> None:
    """The containers of a long run, without an engine."""
    for _ in range(STEPS):
        subprocess.run(COMMAND, check=True)


def overhead(folder: Path) -> Spent:
    """What the engine adds to each further step: (a long run - a short run - the containers alone) / steps."""
    short, long, own = (spent(lambda: run(folder, 1)), spent(lambda: run(folder, 1 + STEPS)), spent(alone))
    return Spent((long.wall - short.wall - own.wall) / STEPS, (long.cpu - short.cpu - own.cpu) / STEPS)


def scaling(folder: Path, repeats: int) -> Iterator[tuple[str, float]]:
    """Cost of each model beyond the first in multiples of what it is for 9: above 1 is worse than linear."""
    cost = {n: median([spent(lambda n=n: follow(folder, fan_out(n))) for _ in range(repeats)]) for n in (1, 9, 33)}
    clock = "cpu" if cost[1].cpu else "wall"
    each = {n: (getattr(cost[n], clock) - getattr(cost[1], clock)) / (n - 1) for n in (9, 33)}
    yield "engine: a pod among 33 models, to one among 9", each[33] / each[9]
