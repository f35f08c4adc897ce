"""A DAG: which tasks run, which are omitted, and what becomes of the whole (Argo: workflow/controller/dag.go)."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gpulab.engines.local.errors import Saturated, TemplateError
from gpulab.engines.local.expressions import ExpressionError, parse_depends, when_holds
from gpulab.engines.local.scope import arguments_of, composed_outputs, item_scope, node_scope, parse_items
from gpulab.engines.local.tags import Scope, TagError, fill, names
from gpulab.engines.protocol import Json, NodeStatus, Phase

if TYPE_CHECKING:
    from gpulab.engines.local.controller import Controller


@dataclass(frozen=True)
class Call:
    """One node that a task becomes; `skipped` says why it does not run, `broken` what is wrong with its `when`."""

    name: str
    arguments: dict[str, str | None] = field(default_factory=dict)
    skipped: str = ""
    broken: str = ""


class Dag:
    """One DAG node and its tasks."""

    def __init__(self, controller: "Controller", node: NodeStatus, template: Json, scope: Scope) -> None:
        self.controller = controller
        self.node = node
        self.template = template
        self.scope = scope
        self.tasks: dict[str, Json] = {task["name"]: task for task in template["dag"]["tasks"]}
        self.depends = {
            name: parse_depends(task["depends"]) for name, task in self.tasks.items() if task.get("depends")
        }
        needed = {name for parsed in self.depends.values() for name in parsed.names}
        self.targets = sorted(set(self.tasks) - needed)
        self.fail_fast = template["dag"].get("failFast", True)
        self._calls: dict[str, list[Call]] = {}
        self._visited: set[str] = set()

    def walk(self) -> None:
        """Go on as far as possible now; marks the DAG's node when it is over."""
        self._visited = set()
        for target in self.targets:
            self._task(target)
        phase = self._assess()
        if phase is Phase.RUNNING:
            return
        ends = [self._node(target) for target in self.targets]
        self.node.outbound = [found.id for end in ends if end for found in self.controller.outbound(end)]
        if phase is Phase.SUCCEEDED:
            self.node.outputs = composed_outputs(self.template, self._scope_of(self.tasks))
        self.controller.mark(self.node, phase)

    # One task

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
                self._calls[name] = self._expand(self.tasks[name])
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
        children = [self.controller.run.nodes[child] for child in node.children] if node.type == "TaskGroup" else []
        phases = [child.phase for child in children]
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

    def _expand(self, task: Json) -> list[Call]:
        scope = self._scope_of(self._ancestors(task["name"]))
        when, per_item = task.get("when", ""), "withParam" in task
        late = per_item and any(tag.split(".")[0] == "item" for tag in names(when))
        filled = when if late else fill(when, scope)
        skipped = "" if late or when_holds(filled) else f"when '{filled}' evaluated false"
        if not per_item:
            return [Call(task["name"], skipped=skipped) if skipped else Call(task["name"], arguments_of(task, scope))]
        items = self._items(task["withParam"], scope, skipped)
        return [self._item(task, index, item, scope, skipped) for index, item in enumerate(items)]

    def _items(self, value: str, scope: Scope, skipped: str) -> list[object]:
        """The fan-out's items; a task that is skipped anyway has none when they cannot be known."""
        if skipped and any(tag.startswith("tasks.") for tag in names(value)):
            return []
        try:
            return parse_items(fill(value, scope))
        except TagError:
            if skipped:
                return []
            raise

    def _item(self, task: Json, index: int, item: object, scope: Scope, skipped: str) -> Call:
        tags, description = item_scope(item)
        inside = {**scope, **tags}
        name = f"{task['name']}({index}:{description.replace('(', '').replace(')', '')})"
        broken, when = "", fill(task.get("when", ""), inside)
        try:
            if not skipped and not when_holds(when):
                skipped = f"when '{when}' evaluated false"
        except ExpressionError as error:
            broken = str(error)
        return Call(name, {} if skipped or broken else arguments_of(task, inside), skipped, broken)

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
        if self.controller.node(path) is None:
            self._connect(name, path, group)
            if call.skipped or call.broken:
                phase = Phase.ERROR if call.broken else Phase.SKIPPED
                self._begin(path, "Skipped", name, phase, call.broken or call.skipped)
                return True
        try:
            self.controller.execute(path, self.tasks[name]["template"], call.arguments, self.node.id)
        except Saturated:
            return False
        except TemplateError as error:
            failed = self.controller.node(path)
            if failed:
                self.controller.mark(failed, Phase.ERROR, f"task '{path}' errored: {error}")
            return False
        return True

    def _close(self, group: NodeStatus, calls: list[Call]) -> None:
        nodes = [self.controller.node(self._path(call.name)) for call in calls]
        if any(node is None or not node.phase.fulfilled for node in nodes):
            return
        bad = [node.phase for node in nodes if node and node.phase.bad]
        self.controller.mark(group, bad[-1] if bad else Phase.SUCCEEDED)

    # The whole

    def _assess(self) -> Phase:
        """The DAG's phase (Argo: assessDAGPhase): an omitted target has the phase of the branch that it ends."""
        nodes = self.controller.run.nodes
        phases: dict[str, Phase | None] = {self._id(target): None for target in self.targets}
        queue = deque((child, Phase.SUCCEEDED) for child in self.node.children)
        seen = set(queue)
        while queue:
            identity, branch = queue.popleft()
            node = nodes.get(identity)
            if node is None or not node.phase.fulfilled:
                return Phase.RUNNING
            branch = node.phase if node.phase.completed else branch
            known = phases.get(identity)
            if identity in phases and not (known and known.bad):
                phases[identity] = branch
            for step in ((child, branch) for child in self._below(node)):
                if step not in seen:
                    seen.add(step)
                    queue.append(step)
        return self._verdict(list(phases.values()))

    def _below(self, node: NodeStatus) -> list[str]:
        if node.type != "Retry":
            return node.children
        return [below for child in reversed(node.children) for below in self.controller.run.nodes[child].children]

    def _verdict(self, phases: list[Phase | None]) -> Phase:
        result = Phase.SUCCEEDED
        for phase in phases:
            if phase is None:
                result = Phase.RUNNING
                if not self.fail_fast:
                    break
            elif phase.bad:
                result = phase
                if self.fail_fast:
                    break
        return result

    # Names, edges, scopes

    def _needs(self, name: str) -> tuple[str, ...]:
        return self.depends[name].names if name in self.depends else ()

    def _path(self, name: str) -> str:
        return f"{self.node.name}.{name}"

    def _node(self, name: str) -> NodeStatus | None:
        return self.controller.node(self._path(name))

    def _id(self, name: str) -> str:
        return self.controller.identity(self._path(name))

    def _begin(self, path: str, kind: str, task: str, phase: Phase, message: str = "") -> NodeStatus:
        return self.controller.begin(path, kind, self.tasks[task]["template"], self.node.id, phase, message)

    def _settle(self, name: str, phase: Phase, message: str) -> None:
        """The task is over without having run."""
        self._begin(self._path(name), "Skipped", name, phase, message)
        self._connect(name, self._path(name), None)

    def _connect(self, name: str, path: str, group: NodeStatus | None) -> None:
        """Hang a node below its group, else below what its task depends on, else below the DAG."""
        parents = [group] if group else []
        if not group:
            needs = [self._node(other) for other in self._needs(name)]
            parents = [found for need in needs if need for found in self.controller.outbound(need)] or [self.node]
        for parent in parents:
            self.controller.link(parent, path)

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
                template = self.controller.templates[self.tasks[name]["template"]]
                scope |= node_scope(f"tasks.{name}", node, template)
        return scope
