"""One machine measures one push at a time. Who waits, who need not wait any more, and how a run is stopped in words.

In a cluster Kueue queues; here two runs at once would spoil each other's timings.
"""

import re
import tomllib
from collections.abc import Callable, Iterable
from typing import Any

from gpulab.engines.errors import CorruptRun
from gpulab.engines.local_engine import local_engine
from gpulab.engines.protocol import Phase
from gpulab.events import MAIN, push_run
from gpulab.forges.local import LocalForge
from gpulab.forges.protocol import Status
from gpulab.home import Home

LOCK = "one-push-at-a-time"


def in_turn(template: dict[str, Any]) -> dict[str, Any]:
    """A pipeline whose runs wait for each other."""
    return template | {"spec": template["spec"] | {"synchronization": {"mutexes": [{"name": LOCK}]}}}


def superseded(queued: Iterable[str], newest: str, graded: Callable[[str], bool]) -> list[str]:
    """The runs of one branch that a newer push makes pointless: those that only wait, and count for no grade.

    Args:
        queued: runs that have not begun.
        newest: the run of the newer push; empty when the branch is gone.
    """
    return [run for run in queued if run != newest and not graded(run)]


def supersede(home: Home, project: str, ref: str, newest: str, why: str) -> list[str]:
    """Stop what waits for nothing; the runs that were stopped."""
    stopped = superseded(queued(home, project, ref), newest, lambda run: is_graded(home, run, ref))
    for run in stopped:
        stop(home, project, run, why)
    return stopped


def queued(home: Home, project: str, ref: str) -> list[str]:
    """The runs of a branch that have not begun."""
    branch = push_run("", ref).removeprefix("push-")
    names = [one.name for one in home.runs.glob("push-*")]
    mine = [name for name in sorted(names) if re.fullmatch(rf"push-[0-9a-f]{{12}}{branch}(-\d+)?", name)]
    return [name for name in mine if phase(home, project, name) is Phase.PENDING]


def ahead(home: Home, project: str, run: str) -> list[str]:
    """The runs that a push run may have to wait for; empty when it has begun."""
    if not run.startswith("push-") or phase(home, project, run) is not Phase.PENDING:
        return []
    others = sorted(one.name for one in home.runs.glob("push-*") if one.name != run)
    return [name for name in others if not phase(home, project, name).fulfilled]


def phase(home: Home, project: str, run: str) -> Phase:
    """The phase of a run; a damaged one has ended."""
    try:
        return local_engine(home, project).results(run).phase
    except CorruptRun:
        return Phase.ERROR


def is_graded(home: Home, run: str, ref: str) -> bool:
    """Whether a course counts the run: main, in a project that has a course. What cannot be read counts."""
    if ref != MAIN:
        return False
    text = forge_of(home).read(run.split("-")[1], "lab.toml") or b""
    try:
        return bool(tomllib.loads(text.decode())["project"].get("course", "") != "")
    except (ValueError, KeyError, AttributeError):
        return True


def stop(home: Home, project: str, run: str, why: str) -> None:
    """Stop a run, and close what it left pending at the forge: its exit handler does not run."""
    local_engine(home, project).cancel(run)
    forge = forge_of(home)
    for file in sorted(home.statuses.glob("*.json")):
        for context, said in forge.statuses(file.stem).items():
            if said.run == run and said.state == "pending":
                forge.set_status(file.stem, Status(context, "error", why, run))


def forge_of(home: Home) -> LocalForge:
    """The forge for questions and statuses, which cause no events."""
    return LocalForge(home, lambda _event: None)
