"""What the name of a run tells about it, and what a commit status tells about a run. Pure."""

import re
from dataclasses import dataclass

from gpulab.engines.protocol import Change, Phase
from gpulab.events import BRANCH_CHECK, ENVIRONMENTS, MAIN, PROMOTION_CHECK, PUSH_CHECK, push_run, sync_context
from gpulab.forges.protocol import State, Status

NAME = re.compile(
    rf"push-(?P<pushed>[0-9a-f]{{12}})-(?P<ref>[0-9a-f]{{6}})(?:-\d+)?"
    rf"|sync-(?P<environment>{'|'.join(ENVIRONMENTS)})-(?P<released>[0-9a-f]{{12}})(?:-\d+)?"
    r"|promotion-(?P<head>[0-9a-f]{12})(?:-\d+)?"
)

PHASES: dict[State, Phase] = {
    "pending": Phase.RUNNING,
    "success": Phase.SUCCEEDED,
    "failure": Phase.FAILED,
    "error": Phase.ERROR,
}

REFUSED = "FAIL: contract"
"""How the description of a commit begins whose contract was refused: the user's input, not a gate."""


@dataclass(frozen=True)
class About:
    """What a run is about: the first 12 digits of its commit, and the status in which it speaks."""

    commit: str
    context: str


def about(run: str) -> About | None:
    """What a run is about; None when no run is named so."""
    found = NAME.fullmatch(run)
    if found is None:
        return None
    if found["pushed"]:
        of_main = push_run(found["pushed"], MAIN).rpartition("-")[2] == found["ref"]
        return About(found["pushed"], PUSH_CHECK if of_main else BRANCH_CHECK)
    if found["released"]:
        return About(found["released"], sync_context(found["environment"]))
    return About(found["head"], PROMOTION_CHECK)


def as_change(run: str, status: Status, time: str) -> Change:
    """A status as the line of a followed run: a step while it is pending, the run itself at its end."""
    phase = PHASES[status.state]
    if phase is Phase.RUNNING:
        return Change(time, status.context, "Pod", phase, status.description)
    return Change(time, run, "Workflow", phase, status.description)


def exit_code(status: Status | None) -> int:
    """The exit code that a status stands for: 0 pass, 1 gate, 2 input, 3 platform."""
    if status is None or status.state in ("error", "pending"):
        return 3
    if status.state == "success":
        return 0
    return 2 if status.description.startswith(REFUSED) else 1
