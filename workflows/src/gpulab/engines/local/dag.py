"""A DAG template: which tasks start, and which are omitted (Argo: workflow/controller/dag.go)."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gpulab.engines.local.assess import assess
from gpulab.engines.local.calls import Call, expand
from gpulab.engines.local.errors import Saturated, TemplateError
from gpulab.engines.local.expressions import parse_depends
from gpulab.engines.local.grammar import ExpressionError
from gpulab.engines.local.scope import composed_outputs, node_scope
from gpulab.engines.local.tags import Scope, TagError
from gpulab.engines.protocol import Json, NodeStatus, Phase

if TYPE_CHECKING:
    from gpulab.engines.local.execution import Executor


class Dag:
    """One DAG node and its tasks."""

    def __init__(self, executor: "Executor", node: NodeStatus, template: Json, scope: Scope) -> None:
        self.executor = executor
        self.tree = executor.tree
        self.node = node
        self.template = template
        self.scope = scope
        self.tasks: dict[str, Json] = {task["name"]: task for task in template["dag"]["tasks"]}
        self.depends = {
            name: parse_depends(task["depends"]) for name, task in self.tasks.items() if task.get("depends")
        }
        needed = {name for parsed in self.depends.values() for name in parsed.names}
        self.targets = sorted(set(self.tasks) - needed)
        self._calls: dict[str, list[Call]] = {}
        self._visited: set[str] = set()

    def walk(self) -> None:
        """Go on as far as possible now; marks the DAG's node when it is over."""
        self._visited = set()
        for target in self.targets:
            self._task(target)
        fail_fast = self.template["dag"].get("failFast", True)
        phase = assess(self.tree, self.node, [self._path(target) for target in self.targets], fail_fast)
        if phase is Phase.RUNNING:
            return
        ends = [self._node(target) for target in self.targets]
        self.node.outbound = [found.id for end in ends if end for found in self.tree.outbound(end)]
        if phase is Phase.SUCCEEDED:
            self.node.outputs = composed_outputs(self.template, self._scope_of(self.tasks))
        self.tree.mark(self.node, phase)

    def _task(self, name: str) -> None:
        if name in self._visited:
            return
        self._visited.add(name)
        node = self._node(name)
        if node and node.phase.fulfilled:
            return
        for other in self._needs(name):
            self._task(other)
        if node is None and not self._may_run(name):
            return
        if name not in self._calls:
            try:
                self._calls[name] = expand(self.tasks[name], self._scope_of(self._ancestors(name)))
            except (TagError, ExpressionError) as error:
                self._settle(name, Phase.ERROR, str(error))
                return
        self._run(name, node)

    def _may_run(self, name: str) -> bool:
        """True when all that the task depends on is over and allows it; an omitted task is settled here."""
        needs = {other: self._node(other) for other in self._needs(name)}
        if any(node is None or not node.phase.fulfilled for node in needs.values()):
            return False
        results = {other: self._results(node) for other, node in needs.items() if node}
        if needs and not self.depends[name].holds(results):
            self._settle(name, Phase.OMITTED, "omitted: depends condition not met")
            return False
        return True

    def _results(self, node: NodeStatus) -> dict[str, bool]:
        phases = [child.phase for child in self.tree.children(node)] if node.type == "TaskGroup" else []
        return {
            "Succeeded": node.phase is Phase.SUCCEEDED,
            "Failed": node.phase is Phase.FAILED,
            "Errored": node.phase is Phase.ERROR,
            "Skipped": node.phase is Phase.SKIPPED,
            "Omitted": node.phase is Phase.OMITTED,
            "Daemoned": False,
            "AnySucceeded": Phase.SUCCEEDED in phases,
            "AllFailed": bool(phases) and all(phase is Phase.FAILED for phase in phases),
        }

    def _run(self, name: str, node: NodeStatus | None) -> None:
        calls, fan_out = self._calls[name], "withParam" in self.tasks[name]
        if fan_out and not calls:
            self._settle(name, Phase.SKIPPED, "Skipped, empty params")
            return
        group = node
        if fan_out and group is None:
            self._connect(name, self._path(name), None)
            group = self._begin(self._path(name), "TaskGroup", name, Phase.RUNNING)
        for call in calls:
            if not self._call(name, call, group if fan_out else None):
                return
        if fan_out and group:
            self._close(group, calls)

    def _call(self, name: str, call: Call, group: NodeStatus | None) -> bool:
        """Start or continue one node; False when the ones after it have to wait for the next pass."""
        path = self._path(call.name)
        if self.tree.node(path) is None:
            self._connect(name, path, group)
            if call.skipped or call.broken:
                phase = Phase.ERROR if call.broken else Phase.SKIPPED
                self._begin(path, "Skipped", name, phase, call.broken or call.skipped)
                return True
        try:
            self.executor.execute(path, self.tasks[name]["template"], call.arguments, self.node.id)
        except Saturated:
            return False
        except TemplateError as error:
            failed = self.tree.node(path)
            if failed:
                self.tree.mark(failed, Phase.ERROR, f"task '{path}' errored: {error}")
            return False
        return True

    def _close(self, group: NodeStatus, calls: list[Call]) -> None:
        """A group is over when its nodes are; it has the phase of the last bad one."""
        nodes = [self._node(call.name) for call in calls]
        if any(node is None or not node.phase.fulfilled for node in nodes):
            return
        bad = [node.phase for node in nodes if node and node.phase.bad]
        self.tree.mark(group, bad[-1] if bad else Phase.SUCCEEDED)

    # Names, edges, scopes

    def _needs(self, name: str) -> tuple[str, ...]:
        return self.depends[name].names if name in self.depends else ()

    def _path(self, name: str) -> str:
        return f"{self.node.name}.{name}"

    def _node(self, name: str) -> NodeStatus | None:
        return self.tree.node(self._path(name))

    def _begin(self, path: str, kind: str, task: str, phase: Phase, message: str = "") -> NodeStatus:
        return self.tree.begin(path, kind, self.tasks[task]["template"], self.node.id, phase, message)

    def _settle(self, name: str, phase: Phase, message: str) -> None:
        """The task is over without having run."""
        self._begin(self._path(name), "Skipped", name, phase, message)
        self._connect(name, self._path(name), None)

    def _connect(self, name: str, path: str, group: NodeStatus | None) -> None:
        """Hang a node below its group, else below what its task depends on, else below the DAG."""
        parents = [group] if group else []
        if not group:
            needs = [self._node(other) for other in self._needs(name)]
            parents = [found for need in needs if need for found in self.tree.outbound(need)] or [self.node]
        for parent in parents:
            self.tree.link(parent, path)

    def _ancestors(self, name: str) -> list[str]:
        found: dict[str, None] = {}
        waiting = [*self._needs(name)]
        while waiting:
            other = waiting.pop()
            if other not in found:
                found[other] = None
                waiting += self._needs(other)
        return [*found]

    def _scope_of(self, tasks: Iterable[str]) -> Scope:
        scope = dict(self.scope)
        for name in tasks:
            node = self._node(name)
            if node:
                template = self.executor.templates[self.tasks[name]["template"]]
                scope |= node_scope(f"tasks.{name}", node, template)
        return scope
