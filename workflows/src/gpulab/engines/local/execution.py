"""Starts a template under a node's name, or carries on with it (Argo: operator.go, executeTemplate)."""

import re
from collections.abc import Mapping

from gpulab.engines.local import clock
from gpulab.engines.local.dag import Dag
from gpulab.engines.local.errors import Saturated, TemplateError
from gpulab.engines.local.grammar import ExpressionError
from gpulab.engines.local.launcher import Launcher, Pod
from gpulab.engines.local.leaves import LEAVES
from gpulab.engines.local.locks import Mutexes
from gpulab.engines.local.retries import Decision, decide
from gpulab.engines.local.scope import take_inputs, template_scope
from gpulab.engines.local.steps import Steps
from gpulab.engines.local.tags import Scope, TagError, fill, fill_all
from gpulab.engines.local.tree import Tree
from gpulab.engines.protocol import Json, NodeStatus, Phase

LOCK_POLL_SECONDS = 0.2


class Executor:
    """Runs the templates of one workflow.

    Attributes:
        scope: the `workflow.*` tags.
        wake_at: when the next pass is due even if nothing happens, POSIX time; None for never.
    """

    def __init__(self, spec: Json, scope: Scope, tree: Tree, launcher: Launcher, mutexes: Mutexes) -> None:
        self.templates: dict[str, Json] = {template["name"]: template for template in spec["templates"]}
        self.scope = scope
        self.tree = tree
        self.launcher = launcher
        self.mutexes = mutexes
        self.wake_at: float | None = None
        self._parallelism: int | None = spec.get("parallelism")
        self._inputs: dict[str, dict[str, str]] = {}
        self._walkers: dict[str, Dag | Steps] = {}
        self._launched: set[str] = set()

    def execute(
        self, name: str, template_name: str, arguments: Mapping[str, str | None], boundary: str = ""
    ) -> NodeStatus | None:
        """One step on with a node.

        Raises:
            TemplateError: it cannot be started; its node is an Error.
            Saturated: `parallelism` leaves no room for it yet.
        """
        node = self.tree.node(name)
        if node and node.phase.fulfilled:
            return node
        template = self.templates[template_name]
        try:
            if name not in self._inputs:
                self._inputs[name] = take_inputs(template, arguments, self.scope)
            scope = template_scope(template, self._inputs[name], {**self.scope, "node.name": name})
            mutexes = mutexes_of(template, scope)
        except TagError as error:
            raise self._fail(name, template_name, boundary, str(error)) from error
        self._leave_room(node, boundary)
        if not self.mutexes.acquire(self.tree.identity(name), mutexes):
            self.wake(clock.posix() + LOCK_POLL_SECONDS)
            kind = "Retry" if "retryStrategy" in template else _kind(template)
            return node or self._begin(name, kind, template_name, boundary, Phase.PENDING, "Waiting for a lock")
        if "retryStrategy" in template:
            return self._retry(name, template, scope, boundary)
        return self._dispatch(name, template, scope, boundary)

    def wake(self, moment: float) -> None:
        """Ask for a pass at that time, POSIX."""
        self.wake_at = min(moment, self.wake_at or moment)

    def _begin(self, name: str, kind: str, template: str, boundary: str, phase: Phase, message: str = "") -> NodeStatus:
        return self.tree.begin(name, kind, template, boundary, phase, message, self._inputs.get(name))

    def _fail(self, name: str, template: str, boundary: str, message: str) -> TemplateError:
        node = self.tree.node(name)
        if node:
            self.tree.mark(node, Phase.ERROR, message)
        else:
            self._begin(name, "Skipped", template, boundary, Phase.ERROR, message)
        return TemplateError(message)

    def _leave_room(self, node: NodeStatus | None, boundary: str) -> None:
        """The `parallelism` of the DAG or Steps that a new node belongs to."""
        if node or not boundary:
            return
        limit = self.templates[self.tree.run.nodes[boundary].template].get("parallelism")
        children = [child for child in self.tree.run.nodes.values() if child.boundary == boundary]
        if limit and sum(not c.phase.fulfilled for c in children if c.type in ("Pod", "Steps", "DAG")) >= limit:
            raise Saturated

    def _retry(self, name: str, template: Json, scope: Scope, boundary: str) -> NodeStatus:
        parent = self.tree.node(name) or self._begin(name, "Retry", template["name"], boundary, Phase.RUNNING)
        self.tree.mark(parent, Phase.RUNNING)
        attempts = self.tree.children(parent)
        index, decision = max(len(attempts) - 1, 0), Decision()
        if attempts and attempts[-1].phase.fulfilled:
            index = len(attempts)
            try:
                decision = decide(template["retryStrategy"], attempts)
            except ExpressionError as error:
                raise self._fail(name, template["name"], boundary, f"retryStrategy.expression: {error}") from error
        if decision.phase:
            parent.outputs = attempts[-1].outputs
            self.tree.mark(parent, decision.phase, decision.message)
        elif decision.wait_until > clock.posix():
            self.wake(decision.wait_until)
        else:
            self._attempt(f"{name}({index})", parent, template, {**scope, "retries": str(index)}, decision.deadline)
        return parent

    def _attempt(self, name: str, parent: NodeStatus, template: Json, scope: Scope, deadline: float | None) -> None:
        self.tree.link(parent, name)
        self._inputs[name] = self._inputs[parent.name]
        try:
            self._dispatch(name, template, scope, parent.boundary, deadline)
        except TemplateError:
            self.tree.changed = True  # the attempt is over; the next pass decides what follows

    def _dispatch(
        self, name: str, template: Json, scope: Scope, boundary: str, deadline: float | None = None
    ) -> NodeStatus:
        kind = _kind(template)
        if kind == "Pod":
            return self._pod(name, template, scope, boundary, deadline)
        node = self.tree.node(name) or self._begin(name, kind, template["name"], boundary, Phase.RUNNING)
        if node.phase is Phase.PENDING:
            self.tree.mark(node, Phase.RUNNING)
        if name not in self._walkers:
            self._walkers[name] = (Dag if kind == "DAG" else Steps)(self, node, template, scope)
        try:
            self._walkers[name].walk()
        except TagError as error:
            raise self._fail(name, template["name"], boundary, str(error)) from error
        return node

    def _pod(self, name: str, template: Json, scope: Scope, boundary: str, deadline: float | None) -> NodeStatus:
        node = self.tree.node(name)
        if node and name in self._launched:
            return node
        if self._parallelism and self._pods_at_work() >= self._parallelism:
            raise Saturated
        node = node or self._begin(name, "Pod", template["name"], boundary, Phase.PENDING)
        self.tree.mark(node, Phase.PENDING)
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

    def _pods_at_work(self) -> int:
        nodes = [self.tree.node(name) for name in self._launched]
        return sum(not node.phase.fulfilled for node in nodes if node)

    def _container_nodes(self, pod: NodeStatus, template: Json) -> dict[str, str]:
        """The nodes of a container set's containers, by name: their ids."""
        containers = template.get("containerSet", {}).get("containers", [])
        names = {item["name"]: f"{pod.name}.{item['name']}" for item in containers}
        nodes = {
            name: self.tree.begin(whole, "Container", template["name"], pod.id, Phase.PENDING)
            for name, whole in names.items()
        }
        for item in containers:
            for parent in [nodes[other] for other in item.get("dependencies", [])] or [pod]:
                self.tree.link(parent, names[item["name"]])
        return {name: node.id for name, node in nodes.items()}


def mutexes_of(owner: Json, scope: Scope) -> list[str]:
    """The names of the mutexes of a workflow or template."""
    return [fill(mutex["name"], scope) for mutex in owner.get("synchronization", {}).get("mutexes", [])]


def _check_deadline(value: int | str) -> None:
    if not re.fullmatch(r"[1-9]\d{0,8}", str(value), re.ASCII):
        raise ValueError(f"activeDeadlineSeconds: {value!r} is no whole number above 0")


def _kind(template: Json) -> str:
    return "Pod" if any(kind in template for kind in LEAVES) else "DAG" if "dag" in template else "Steps"
