"""A Steps template: groups one after the other, the steps of a group at once (Argo: workflow/controller/steps.go)."""

from typing import TYPE_CHECKING

from gpulab.engines.local.errors import Saturated, TemplateError
from gpulab.engines.local.expressions import when_holds
from gpulab.engines.local.grammar import ExpressionError
from gpulab.engines.local.scope import arguments_of, composed_outputs, node_scope
from gpulab.engines.local.tags import Scope, TagError, fill
from gpulab.engines.protocol import Json, NodeStatus, Phase

if TYPE_CHECKING:
    from gpulab.engines.local.execution import Executor

Resolved = dict[str, tuple[str, dict[str, str | None]]]
"""By step: why it is skipped ("" when it runs), and its arguments."""


class Steps:
    """One Steps node and its groups."""

    def __init__(self, executor: "Executor", node: NodeStatus, template: Json, scope: Scope) -> None:
        self.executor = executor
        self.tree = executor.tree
        self.node = node
        self.template = template
        self.scope = scope
        self._resolved: dict[str, Resolved] = {}

    def walk(self) -> None:
        """Go on as far as possible now; marks the node when it is over."""
        scope = dict(self.scope)
        for index, steps in enumerate(self.template["steps"]):
            group = self._group(index)
            if not group.phase.fulfilled:
                self._run(group, steps, scope)
            if not group.phase.fulfilled:
                return
            self.node.outbound = [
                found.id for child in self.tree.children(group) for found in self.tree.outbound(child)
            ]
            if group.phase.bad:
                self.tree.mark(self.node, Phase.FAILED, group.message)
                return
            scope |= self._outcome(group, steps)
        self.node.outputs = composed_outputs(self.template, scope)
        self.tree.mark(self.node, Phase.SUCCEEDED)

    def _group(self, index: int) -> NodeStatus:
        """The group's node, hung below the Steps or below what the group before ended with."""
        name = f"{self.node.name}[{index}]"
        if known := self.tree.node(name):
            return known
        parents = [self.node]
        if index and (before := self.tree.node(f"{self.node.name}[{index - 1}]")):
            parents = [found for child in self.tree.children(before) for found in self.tree.outbound(child)] or [before]
        for parent in parents:
            self.tree.link(parent, name)
        return self.tree.begin(name, "StepGroup", "", self.node.id, Phase.RUNNING)

    def _run(self, group: NodeStatus, steps: list[Json], scope: Scope) -> None:
        if group.name not in self._resolved:
            try:
                self._resolved[group.name] = {step["name"]: self._resolve(step, scope) for step in steps}
            except (TagError, ExpressionError) as error:
                self.tree.mark(group, Phase.ERROR, f"failed to resolve references: {error}")
                return
        waiting = False
        for step in steps:
            skipped, arguments = self._resolved[group.name][step["name"]]
            path = f"{group.name}.{step['name']}"
            if skipped and not self.tree.node(path):
                self.tree.begin(path, "Skipped", step["template"], self.node.id, Phase.SKIPPED, skipped)
            try:
                self.executor.execute(path, step["template"], arguments, self.node.id)
            except Saturated:
                waiting = True
                continue
            except TemplateError as error:
                self.tree.link(group, path)
                message = f"step group deemed errored due to child {path} error: {error}"
                self.tree.mark(group, Phase.ERROR, message)
                return
            self.tree.link(group, path)
        if not waiting:
            self._close(group)

    def _resolve(self, step: Json, scope: Scope) -> tuple[str, dict[str, str | None]]:
        when = fill(step.get("when", ""), scope)
        if not when_holds(when):
            return f"when '{when}' evaluated false", {}
        return "", arguments_of(step, scope)

    def _close(self, group: NodeStatus) -> None:
        children = self.tree.children(group)
        if any(not child.phase.fulfilled for child in children):
            return
        bad = [child for child in children if child.phase.bad]
        if bad:
            self.tree.mark(group, Phase.FAILED, f"child '{bad[0].id}' failed")
        else:
            self.tree.mark(group, Phase.SUCCEEDED)

    def _outcome(self, group: NodeStatus, steps: list[Json]) -> Scope:
        scope: Scope = {}
        for step in steps:
            node = self.tree.node(f"{group.name}.{step['name']}")
            if node:
                scope |= node_scope(f"steps.{step['name']}", node, self.executor.templates[step["template"]])
        return scope
