"""Decides what runs next, as Argo's controller does: over and over, one pass from the entrypoint down.

A pass changes the tree of nodes only by what pods have reported since; with the same tree it does nothing. So the
outcome of every node follows from the same rules as in Argo (workflow/controller/operator.go), in any order of events.
"""

import json

from gpulab.engines.local import clock
from gpulab.engines.local.errors import Saturated, TemplateError
from gpulab.engines.local.execution import LOCK_POLL_SECONDS, Executor, mutexes_of
from gpulab.engines.local.launcher import Launcher, Report
from gpulab.engines.local.locks import Mutexes
from gpulab.engines.local.record import now
from gpulab.engines.local.scope import text, workflow_scope
from gpulab.engines.local.tree import Tree
from gpulab.engines.protocol import Json, NodeStatus, Phase, RunStatus

STOPPED, SHUT_DOWN = "Stopped with strategy 'Terminate'", "workflow shutdown with strategy: Terminate"


class Controller:
    """The state of one run and the rules by which it begins and ends.

    Attributes:
        tree: the run's nodes; it knows whether the last pass (or report) changed something.
    """

    def __init__(self, manifest: Json, run: RunStatus, launcher: Launcher, mutexes: Mutexes) -> None:
        self.spec: Json = manifest["spec"]
        self.run = run
        self.tree = Tree(run, mutexes.release)
        self.mutexes = mutexes
        self._executor = Executor(self.spec, workflow_scope(manifest), self.tree, launcher, mutexes)

    @property
    def wake_at(self) -> float | None:
        """When the next pass is due even without a report, POSIX time; None for never."""
        return self._executor.wake_at

    def operate(self) -> bool:
        """One pass; True when the run has ended."""
        self.tree.changed, self._executor.wake_at = False, None
        if not self.mutexes.acquire("", mutexes_of(self.spec, self._executor.scope)):
            self._executor.wake(clock.posix() + LOCK_POLL_SECONDS)
            return False
        if self.run.phase is Phase.PENDING:
            self.run.phase, self.tree.changed = Phase.RUNNING, True
        try:
            root = self._execute_top(self.run.name, self.spec["entrypoint"])
        except TemplateError as error:
            return self.finish(Phase.ERROR, f"error in entry template execution: {error}")
        if root is None or not root.phase.fulfilled:
            return False
        return self._exit(root)

    def _execute_top(self, name: str, template: str) -> NodeStatus | None:
        parameters = self.spec.get("arguments", {}).get("parameters", [])
        try:
            return self._executor.execute(name, template, {item["name"]: text(item["value"]) for item in parameters})
        except Saturated:
            return None

    def _exit(self, root: NodeStatus) -> bool:
        phase = root.phase if root.phase.completed else Phase.SUCCEEDED
        self._executor.scope |= {"workflow.status": str(phase), "workflow.failures": self._failures()}
        if not self.spec.get("onExit"):
            return self.finish(phase, root.message)
        try:
            handler = self._execute_top(f"{self.run.name}.onExit", self.spec["onExit"])
        except TemplateError as error:
            return self.finish(Phase.ERROR, f"error in exit template execution : {error}")
        if handler is None or not handler.phase.fulfilled:
            return False
        if phase is Phase.SUCCEEDED and handler.phase.bad:
            return self.finish(handler.phase, handler.message)
        return self.finish(phase, root.message)

    def _failures(self) -> str:
        bad = [node for node in self.run.nodes.values() if node.phase.bad]
        listed = [
            {
                "displayName": node.display_name,
                "message": node.message,
                "templateName": node.template,
                "phase": node.phase,
                "podName": node.id,
                "finishedAt": node.finished_at,
            }
            for node in bad
        ]
        return json.dumps(json.dumps(listed or None, ensure_ascii=False), ensure_ascii=False)

    def finish(self, phase: Phase, message: str = "") -> bool:
        """End the run; always True."""
        self.run.phase, self.run.message, self.run.finished_at = phase, message, now()
        self.mutexes.release("")
        return True

    def terminate(self) -> None:
        """End a run whose pods were stopped: what was not finished Failed, and the exit handler is not run."""
        for node in self.run.nodes.values():
            if not node.phase.fulfilled:
                pod = node.type in ("Pod", "Container")
                self.tree.mark(
                    node, Phase.FAILED, "workflow shutdown with strategy: Terminate" if pod else node.message
                )
        self.finish(Phase.FAILED, STOPPED)

    def apply(self, report: Report) -> None:
        """Take over what a pod has reported."""
        node = self.run.nodes[report.id]
        if report.phase is None or node.phase.fulfilled:
            return
        node.outputs = report.outputs or node.outputs
        node.log = report.log or node.log
        self.tree.mark(node, report.phase, report.message)
