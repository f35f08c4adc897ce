"""The nodes of a run and how they hang together, by the names and edges that Argo gives them."""

import re
from collections.abc import Callable, Mapping

from gpulab.engines.local.record import node_id, now
from gpulab.engines.protocol import NodeStatus, Phase, RunStatus

_SEPARATOR = re.compile(r"^(\[\d+\])?\.")


class Tree:
    """The nodes of one run.

    Args:
        ended: called with a node's id when nothing more will happen to it.

    Attributes:
        changed: something was changed since this was last set to False.
    """

    def __init__(self, run: RunStatus, ended: Callable[[str], None]) -> None:
        self.run = run
        self.changed = False
        self._ended = ended

    def node(self, name: str) -> NodeStatus | None:
        """The node of that (whole) name."""
        return self.run.nodes.get(self.identity(name))

    def identity(self, name: str) -> str:
        """The id that the node of that name has or will have."""
        return node_id(self.run.name, name)

    def children(self, node: NodeStatus) -> list[NodeStatus]:
        """The nodes right below, as far as they exist."""
        return [self.run.nodes[child] for child in node.children if child in self.run.nodes]

    def begin(
        self,
        name: str,
        kind: str,
        template: str,
        boundary: str,
        phase: Phase,
        message: str = "",
        inputs: Mapping[str, str] | None = None,
    ) -> NodeStatus:
        """A new node."""
        parent = self.run.nodes.get(boundary)
        shown = _SEPARATOR.sub("", name.removeprefix(parent.name)) if parent else name
        moment = now()
        node = NodeStatus(self.identity(name), name, shown, kind, template, boundary, phase, message, moment)
        node.finished_at = moment if phase.fulfilled else ""
        if inputs:
            node.inputs = {"parameters": [{"name": key, "value": value} for key, value in inputs.items()]}
        self.run.nodes[node.id] = node
        self.changed = True
        return node

    def mark(self, node: NodeStatus, phase: Phase, message: str = "") -> None:
        """Give a node a phase."""
        if (node.phase, node.message) == (phase, message):
            return
        node.phase, node.message, self.changed = phase, message, True
        if phase.fulfilled:
            node.finished_at = node.finished_at or now()
            self._ended(node.id)

    def link(self, parent: NodeStatus, child: str) -> None:
        """Hang a node (by name; it may not exist yet) below another."""
        identity = self.identity(child)
        if identity not in parent.children:
            parent.children.append(identity)
            self.changed = True

    def outbound(self, node: NodeStatus) -> list[NodeStatus]:
        """The nodes on which whatever comes after this one hangs (Argo: operator.go, getOutboundNodes)."""
        children = self.children(node)
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
