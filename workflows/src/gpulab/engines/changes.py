"""From one status of a run to the next: what changed, in the order in which a person reads it."""

from collections.abc import Callable, Iterator
from pathlib import Path

from gpulab.engines.protocol import Change, NodeStatus, Phase, RunStatus


def _no_log(_node: NodeStatus) -> Path | None:
    return None


def changes(
    run: RunStatus, seen: dict[str, Phase], log: Callable[[NodeStatus], Path | None] = _no_log
) -> Iterator[Change]:
    """The nodes, and at last the run itself, whose phase is not the one in `seen`, which is brought up to date.

    Args:
        log: where a node's output is.
    """
    new = [node for node in run.nodes.values() if seen.get(node.id) != node.phase]
    for node in sorted(new, key=_order):
        seen[node.id] = node.phase
        time = node.finished_at or node.started_at
        yield Change(time, node.display_name, node.type, node.phase, node.message, log(node))
    if seen.get("") != run.phase:
        seen[""] = run.phase
        yield Change(run.finished_at or run.started_at, run.name, "Workflow", run.phase, run.message)


def _order(node: NodeStatus) -> tuple[str, int]:
    """By time; at the same moment a DAG begins before its tasks and ends after them."""
    depth = len(node.name)
    return (node.finished_at, -depth) if node.finished_at else (node.started_at, depth)
