"""Starts pods, a few at a time, and hears what becomes of them."""

import threading
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Protocol

from gpulab.engines.protocol import Json, Phase


@dataclass(frozen=True)
class Pod:
    """A pod to run.

    Attributes:
        id: the node's id.
        template: a leaf template with all tags filled in.
        raw: the same with its tags, which `scope` fills in: what a value brings is data, not a path of the template.
        containers: node ids of a container set's containers, by name.
        deadline: POSIX time at which it is stopped (`retryStrategy.backoff.maxDuration`), None for never.
    """

    id: str
    template: Json
    raw: Json
    scope: Mapping[str, str | None]
    containers: Mapping[str, str] = field(default_factory=dict)
    deadline: float | None = None


@dataclass(frozen=True)
class Report:
    """A node (a pod or a container of a set) has a new phase; None asks the supervisor to stop the run."""

    id: str
    phase: Phase | None
    message: str = ""
    outputs: Json = field(default_factory=dict)
    log: str = ""


class Running(Protocol):
    """A pod at work."""

    def run(self) -> None:
        """Run to the end, reporting every change of phase."""

    def stop(self) -> None:
        """Make `run` end soon: all processes get SIGTERM, later SIGKILL. From any thread, at any time."""


class Launcher:
    """A pool of threads, one for each running pod."""

    def __init__(self, limit: int, make: Callable[[Pod, Callable[[Report], None]], Running]) -> None:
        self.reports: SimpleQueue[Report] = SimpleQueue()
        self._make = make
        self._pool = ThreadPoolExecutor(limit, thread_name_prefix="pod")
        self._running: dict[str, Running] = {}
        self._guard = threading.Lock()
        self._stopped = False

    @property
    def busy(self) -> bool:
        """A pod waits, runs, or has reported what nobody has read yet."""
        with self._guard:
            return bool(self._running) or not self.reports.empty()

    def start(self, pod: Pod) -> None:
        """Run a pod as soon as there is room."""
        running = self._make(pod, self.reports.put)
        with self._guard:
            self._running[pod.id] = running
        self._pool.submit(self._run, pod.id, running)

    def _run(self, pod_id: str, running: Running) -> None:
        try:
            if not self._stopped:
                running.run()
        except Exception as error:  # a fault of ours must end as an Error, not as a node that runs for ever
            traceback.print_exc()
            self.reports.put(Report(pod_id, Phase.ERROR, f"the engine failed: {error}"))
        finally:
            with self._guard:
                del self._running[pod_id]

    def stop(self) -> None:
        """Stop every pod and wait until all of their processes are gone."""
        self._stopped = True
        with self._guard:
            at_work = [*self._running.values()]
        for running in at_work:
            running.stop()
        self._pool.shutdown(wait=True)
