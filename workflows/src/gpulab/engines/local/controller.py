"""Decides what runs next, as Argo's controller does: over and over, one pass from the entrypoint down.

A pass changes the tree of nodes only by what pods have reported since; with the same tree it does nothing. So the
outcome of every node follows from the same rules as in Argo (workflow/controller/operator.go), in any order of events.
"""

import json
import re
import time
from collections.abc import Mapping

from gpulab.engines.local.dag import Dag
from gpulab.engines.local.errors import Saturated, TemplateError
from gpulab.engines.local.expressions import ExpressionError
from gpulab.engines.local.launcher import Launcher, Pod, Report
from gpulab.engines.local.leaves import LEAVES
from gpulab.engines.local.locks import Mutexes
from gpulab.engines.local.record import node_id, now
from gpulab.engines.local.retries import decide
from gpulab.engines.local.scope import take_inputs, template_scope, text, workflow_scope
from gpulab.engines.local.steps import Steps
from gpulab.engines.local.tags import Scope, TagError, fill, fill_all
from gpulab.engines.protocol import Json, NodeStatus, Phase, RunStatus

STOPPED = "Stopped with strategy 'Terminate'"
_LOCK_POLL_SECONDS = 0.2
_SEPARATOR = re.compile(r"^(\[\d+\])?\.")


class Controller:
    """The state of one run and the rules by which it goes on.

    Attributes:
        changed: the last pass (or report) changed something.
        wake_at: when the next pass is due even without a report, POSIX time; None for never.
    """

    def __init__(self, manifest: Json, run: RunStatus, launcher: Launcher, mutexes: Mutexes) -> None:
        self.spec: Json = manifest["spec"]
        self.templates: dict[str, Json] = {template["name"]: template for template in self.spec["templates"]}
        self.run = run
        self.scope: Scope = workflow_scope(manifest)
        self.launcher = launcher
        self.mutexes = mutexes
        self.changed = False
        self.wake_at: float | None = None
        self._inputs: dict[str, dict[str, str]] = {}
        self._walkers: dict[str, Dag | Steps] = {}
        self._launched: set[str] = set()

    def operate(self) -> bool:
        """One pass; True when the run has ended."""
        self.changed, self.wake_at = False, None
        if not self.mutexes.acquire("", self._mutexes(self.spec, self.scope)):
            self._wake(time.time() + _LOCK_POLL_SECONDS)
            return False
        if self.run.phase is Phase.PENDING:
            self.run.phase, self.changed = Phase.RUNNING, True
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
            return self.execute(name, template, {item["name"]: text(item["value"]) for item in parameters})
        except Saturated:
            return None

    def _exit(self, root: NodeStatus) -> bool:
        phase = root.phase if root.phase.completed else Phase.SUCCEEDED
        self.scope |= {"workflow.status": str(phase), "workflow.failures": self._failures()}
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
        self.run.phase, self.run.message, self.run.finished_at, self.changed = phase, message, now(), True
        self.mutexes.release("")
        return True

    def terminate(self) -> None:
        """End a run whose pods were stopped: what was not finished Failed, and the exit handler is not run."""
        for node in self.run.nodes.values():
            if not node.phase.fulfilled:
                pod = node.type in ("Pod", "Container")
                self.mark(node, Phase.FAILED, "workflow shutdown with strategy: Terminate" if pod else node.message)
        self.finish(Phase.FAILED, STOPPED)

    def apply(self, report: Report) -> None:
        """Take over what a pod has reported."""
        node = self.run.nodes[report.id]
        if report.phase is None or node.phase.fulfilled:
            return
        node.outputs = report.outputs or node.outputs
        node.log = report.log or node.log
        self.mark(node, report.phase, report.message)

    # The tree

    def node(self, name: str) -> NodeStatus | None:
        """The node of that (whole) name."""
        return self.run.nodes.get(self.identity(name))

    def identity(self, name: str) -> str:
        """The id that the node of that name has or will have."""
        return node_id(self.run.name, name)

    def begin(self, name: str, kind: str, template: str, boundary: str, phase: Phase, message: str = "") -> NodeStatus:
        """A new node."""
        parent = self.run.nodes.get(boundary)
        shown = _SEPARATOR.sub("", name.removeprefix(parent.name)) if parent else name
        moment = now()
        node = NodeStatus(node_id(self.run.name, name), name, shown, kind, template, boundary, phase, message, moment)
        node.finished_at = moment if phase.fulfilled else ""
        if inputs := self._inputs.get(name):
            node.inputs = {"parameters": [{"name": key, "value": value} for key, value in inputs.items()]}
        self.run.nodes[node.id] = node
        self.changed = True
        return node

    def mark(self, node: NodeStatus, phase: Phase, message: str = "") -> None:
        """Give a node a phase; its mutexes are free when nothing more will happen to it."""
        if (node.phase, node.message) == (phase, message):
            return
        node.phase, node.message, self.changed = phase, message, True
        if phase.fulfilled:
            node.finished_at = node.finished_at or now()
            self.mutexes.release(node.id)

    def link(self, parent: NodeStatus, child: str) -> None:
        """Hang a node (by name; it may not exist yet) below another."""
        identity = node_id(self.run.name, child)
        if identity not in parent.children:
            parent.children.append(identity)
            self.changed = True

    def outbound(self, node: NodeStatus) -> list[NodeStatus]:
        """The nodes on which whatever comes after this one hangs (Argo: getOutboundNodes)."""
        children = [self.run.nodes[child] for child in node.children if child in self.run.nodes]
        if node.type == "Retry" and children:
            return [children[-1]]
        if node.type in ("Pod", "Container"):
            pod = node.id if node.type == "Pod" else node.boundary
            children = [child for child in children if child.type == "Container" and child.boundary == pod]
        if node.type in ("Pod", "Container", "TaskGroup"):
            return [found for child in children for found in self.outbound(child)] or [node]
        if node.type in ("DAG", "Steps"):
            return [found for last in node.outbound for found in self.outbound(self.run.nodes[last])]
        return [node]

    # Templates

    def execute(
        self, name: str, template_name: str, arguments: Mapping[str, str | None], boundary: str = ""
    ) -> NodeStatus | None:
        """Start a template under a node's name, or carry on with it.

        Raises:
            TemplateError: it cannot be started; its node is an Error.
            Saturated: `parallelism` leaves no room for it yet.
        """
        node = self.node(name)
        if node and node.phase.fulfilled:
            return node
        template = self.templates[template_name]
        try:
            if name not in self._inputs:
                self._inputs[name] = take_inputs(template, arguments, self.scope)
            scope = template_scope(template, self._inputs[name], {**self.scope, "node.name": name})
            mutexes = self._mutexes(template, scope)
        except TagError as error:
            raise self._fail(name, template_name, boundary, str(error)) from error
        self._leave_room(node, boundary)
        if not self.mutexes.acquire(node_id(self.run.name, name), mutexes):
            self._wake(time.time() + _LOCK_POLL_SECONDS)
            kind = "Retry" if "retryStrategy" in template else _kind(template)
            return node or self.begin(name, kind, template_name, boundary, Phase.PENDING, "Waiting for a lock")
        if "retryStrategy" in template:
            return self._retry(name, template, scope, boundary)
        return self._dispatch(name, template, scope, boundary)

    def _fail(self, name: str, template: str, boundary: str, message: str) -> TemplateError:
        node = self.node(name)
        if node:
            self.mark(node, Phase.ERROR, message)
        else:
            self.begin(name, "Skipped", template, boundary, Phase.ERROR, message)
        return TemplateError(message)

    def _mutexes(self, owner: Json, scope: Scope) -> list[str]:
        return [fill(mutex["name"], scope) for mutex in owner.get("synchronization", {}).get("mutexes", [])]

    def _leave_room(self, node: NodeStatus | None, boundary: str) -> None:
        if node or not boundary:
            return
        limit = self.templates[self.run.nodes[boundary].template].get("parallelism")
        children = [child for child in self.run.nodes.values() if child.boundary == boundary]
        if limit and sum(not c.phase.fulfilled for c in children if c.type in ("Pod", "Steps", "DAG")) >= int(limit):
            raise Saturated

    def _retry(self, name: str, template: Json, scope: Scope, boundary: str) -> NodeStatus:
        parent = self.node(name) or self.begin(name, "Retry", template["name"], boundary, Phase.RUNNING)
        self.mark(parent, Phase.RUNNING)
        attempts = [self.run.nodes[child] for child in parent.children if child in self.run.nodes]
        deadline = None
        if attempts and attempts[-1].phase.fulfilled:
            try:
                decision = decide(template["retryStrategy"], attempts)
            except ExpressionError as error:
                raise self._fail(name, template["name"], boundary, f"retryStrategy.expression: {error}") from error
            if decision.phase:
                parent.outputs = attempts[-1].outputs
                self.mark(parent, decision.phase, decision.message)
                return parent
            if decision.wait_until > time.time():
                self._wake(decision.wait_until)
                return parent
            deadline = decision.deadline
            attempts.append(parent)
        index = max(len(attempts) - 1, 0)
        attempt = f"{name}({index})"
        self.link(parent, attempt)
        self._inputs[attempt] = self._inputs[name]
        try:
            self._dispatch(attempt, template, {**scope, "retries": str(index)}, boundary, deadline)
        except TemplateError:
            self.changed = True
        return parent

    def _dispatch(
        self, name: str, template: Json, scope: Scope, boundary: str, deadline: float | None = None
    ) -> NodeStatus:
        kind = _kind(template)
        if kind == "Pod":
            return self._pod(name, template, scope, boundary, deadline)
        node = self.node(name) or self.begin(name, kind, template["name"], boundary, Phase.RUNNING)
        if node.phase is Phase.PENDING:
            self.mark(node, Phase.RUNNING)
        if name not in self._walkers:
            self._walkers[name] = (Dag if kind == "DAG" else Steps)(self, node, template, scope)
        try:
            self._walkers[name].walk()
        except TagError as error:
            raise self._fail(name, template["name"], boundary, str(error)) from error
        return node

    def _pod(self, name: str, template: Json, scope: Scope, boundary: str, deadline: float | None) -> NodeStatus:
        node = self.node(name)
        if node and name in self._launched:
            return node
        limit = self.spec.get("parallelism")
        if limit and len(self._launched) - self._ended_pods() >= int(limit):
            raise Saturated
        node = node or self.begin(name, "Pod", template["name"], boundary, Phase.PENDING)
        self.mark(node, Phase.PENDING)
        body = {key: value for key, value in template.items() if key not in ("retryStrategy", "synchronization")}
        scope = {**scope, "pod.name": node.id}
        try:
            filled = fill_all(body, scope)
            _check_deadline(filled.get("activeDeadlineSeconds", 1))
        except ValueError as error:
            raise self._fail(name, template["name"], boundary, str(error)) from error
        self._launched.add(name)
        self.launcher.start(Pod(node.id, filled, body, scope, self._container_nodes(node, template), deadline))
        return node

    def _ended_pods(self) -> int:
        return sum(node.phase.fulfilled for name in self._launched if (node := self.node(name)))

    def _container_nodes(self, pod: NodeStatus, template: Json) -> dict[str, str]:
        containers = template.get("containerSet", {}).get("containers", [])
        names = {item["name"]: f"{pod.name}.{item['name']}" for item in containers}
        nodes = {
            name: self.begin(whole, "Container", template["name"], pod.id, Phase.PENDING)
            for name, whole in names.items()
        }
        for item in containers:
            for parent in [nodes[other] for other in item.get("dependencies", [])] or [pod]:
                self.link(parent, names[item["name"]])
        return {name: node.id for name, node in nodes.items()}

    def _wake(self, moment: float) -> None:
        self.wake_at = min(moment, self.wake_at or moment)


def _check_deadline(value: int | str) -> None:
    if not re.fullmatch(r"[1-9]\d{0,8}", str(value), re.ASCII):
        raise ValueError(f"activeDeadlineSeconds: {value!r} is no whole number above 0")


def _kind(template: Json) -> str:
    return "Pod" if any(kind in template for kind in LEAVES) else "DAG" if "dag" in template else "Steps"
