"""What every engine can do, and the status it reports: Argo's words in Argo's shape."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from gpulab.errors import InputError
from gpulab.names import LABEL

Json = dict[str, Any]
SCHEMA = "gpulab/run/v1"


class Phase(StrEnum):
    """The phase of a node or of a whole run."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    SKIPPED = "Skipped"
    FAILED = "Failed"
    ERROR = "Error"
    OMITTED = "Omitted"

    @property
    def bad(self) -> bool:
        """Failed or Error."""
        return self in (Phase.FAILED, Phase.ERROR)

    @property
    def completed(self) -> bool:
        """It ran and ended (Skipped and Omitted never ran)."""
        return self is Phase.SUCCEEDED or self.bad

    @property
    def fulfilled(self) -> bool:
        """Nothing more will happen to it."""
        return self.completed or self in (Phase.SKIPPED, Phase.OMITTED)


@dataclass(slots=True)
class NodeStatus:
    """One node of the tree, as in Argo's `status.nodes`.

    Attributes:
        name: the whole path, e.g. `run.verify(0:cpu).main`.
        type: Pod, Container, DAG, Steps, StepGroup, TaskGroup, Retry or Skipped.
        boundary: the id of the DAG, Steps or pod that the node belongs to.
        outbound: the nodes that what comes after a DAG or Steps hangs on.
        log: its output, below the run's folder; empty when it has none.
    """

    id: str
    name: str
    display_name: str
    type: str
    template: str
    boundary: str
    phase: Phase
    message: str = ""
    started_at: str = ""
    finished_at: str = ""
    inputs: Json = field(default_factory=dict)
    outputs: Json = field(default_factory=dict)
    children: list[str] = field(default_factory=list)
    outbound: list[str] = field(default_factory=list)
    log: str = ""


@dataclass(slots=True)
class RunStatus:
    """A run, as in Argo's `status`."""

    name: str
    phase: Phase
    message: str = ""
    started_at: str = ""
    finished_at: str = ""
    nodes: dict[str, NodeStatus] = field(default_factory=dict)

    def by_display_name(self, display_name: str) -> NodeStatus | None:
        """The first node shown under that name."""
        return next((node for node in self.nodes.values() if node.display_name == display_name), None)


@dataclass(frozen=True, slots=True)
class Change:
    """One line of a followed run: a node, or the run itself (`type` is then "Workflow"), has a new phase.

    Attributes:
        time: RFC 3339, UTC; when the phase began.
        log: where the node's output is, None when it has none.
    """

    time: str
    node: str
    type: str
    phase: Phase
    message: str
    log: Path | None = None


def run_name(name: str) -> str:
    """The name of a run, which becomes a part of paths.

    Raises:
        InputError: it is none.
    """
    if not re.fullmatch(LABEL, name):
        raise InputError(f"{name!r} is no run's name: lower-case letters, digits and '-', at most 63")
    return name


class Engine(Protocol):
    """Runs one rendered WorkflowTemplate under a name that is used once."""

    def submit(self, name: str, template: Mapping[str, Any], parameters: Mapping[str, str]) -> None:
        """Start a run and return at once.

        Raises:
            AlreadyExists: the name was used.
            InputError: the template or the parameters cannot be run; everything wrong is named.
            PlatformError: the engine cannot start it.
        """

    def follow(self, name: str) -> Iterator[Change]:
        """Every change of phase from the beginning, until the run has ended."""

    def cancel(self, name: str) -> None:
        """Stop a run and all it started; the exit handler is not run."""

    def results(self, name: str) -> RunStatus:
        """The status as it is now."""

    def artifact(self, key: str) -> Path:
        """Where the artifact with that key can be read (a folder when the key is a prefix); it may not exist."""
