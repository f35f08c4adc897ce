"""What becomes of a DAG, from what became of its nodes (Argo: workflow/controller/dag.go, assessDAGPhase)."""

from collections import deque
from collections.abc import Sequence

from gpulab.engines.local.tree import Tree
from gpulab.engines.protocol import NodeStatus, Phase


def assess(tree: Tree, dag: NodeStatus, targets: Sequence[str], fail_fast: bool) -> Phase:
    """The DAG's phase; Running while any of its nodes is.

    An omitted target has the phase of the last node that completed above it; when it hangs below several, a bad one.

    Args:
        targets: names of the nodes that nothing depends on, in alphabetical order.
    """
    phases: dict[str, Phase | None] = {tree.identity(target): None for target in targets}
    queue = deque((child, Phase.SUCCEEDED) for child in dag.children)
    seen = set(queue)
    while queue:
        identity, branch = queue.popleft()
        node = tree.run.nodes.get(identity)
        if node is None or not node.phase.fulfilled:
            return Phase.RUNNING
        branch = node.phase if node.phase.completed else branch
        known = phases.get(identity)
        if identity in phases and not (known and known.bad):
            phases[identity] = branch
        for step in ((child, branch) for child in _below(tree, node)):
            if step not in seen:
                seen.add(step)
                queue.append(step)
    return _verdict(list(phases.values()), fail_fast)


def _below(tree: Tree, node: NodeStatus) -> list[str]:
    """A retried node stands for its attempts, so the way goes on below those."""
    if node.type != "Retry":
        return node.children
    return [below for child in reversed(tree.children(node)) for below in child.children]


def _verdict(phases: list[Phase | None], fail_fast: bool) -> Phase:
    """The first bad target decides with failFast, the last one without; one that has not begun keeps it running."""
    result = Phase.SUCCEEDED
    for phase in phases:
        if phase is None:
            result = Phase.RUNNING
            if not fail_fast:
                break
        elif phase.bad:
            result = phase
            if fail_fast:
                break
    return result
