"""From a Workflow as Argo gives it to the status that every engine reports, and to its artifacts. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpulab.clusters.workflows import nodes_of
from gpulab.engines.protocol import NodeStatus, Phase, RunStatus
from gpulab.node_names import ATTEMPT


@dataclass(frozen=True)
class Stored:
    """An output artifact: its key in the store, and the node and name under which the server gives it."""

    key: str
    node: str
    name: str


def run_status(workflow: Mapping[str, Any]) -> RunStatus:
    """The status of a Workflow; one that the controller has not seen yet is Pending."""
    metadata, status = workflow["metadata"], workflow.get("status") or {}
    return RunStatus(
        name=metadata["name"],
        phase=Phase(status.get("phase") or Phase.PENDING),
        message=status.get("message") or "",
        started_at=status.get("startedAt") or metadata.get("creationTimestamp") or "",
        finished_at=status.get("finishedAt") or "",
        nodes={id_: _node(node) for id_, node in nodes_of(status).items()},
    )


def _node(node: Mapping[str, Any]) -> NodeStatus:
    return NodeStatus(
        id=node["id"],
        name=node["name"],
        display_name=_shown(node),
        type=node["type"],
        template=node.get("templateName") or (node.get("templateRef") or {}).get("template") or "",
        boundary=node.get("boundaryID") or "",
        phase=Phase(node.get("phase") or Phase.PENDING),
        message=node.get("message") or "",
        started_at=node.get("startedAt") or "",
        finished_at=node.get("finishedAt") or "",
        inputs=dict(node.get("inputs") or {}),
        outputs=dict(node.get("outputs") or {}),
        children=list(node.get("children") or []),
        outbound=list(node.get("outboundNodes") or []),
    )


def _shown(node: Mapping[str, Any]) -> str:
    """The display name; an attempt's keeps its number, also where a template gives all its nodes one name."""
    shown = str(node.get("displayName") or node["name"])
    number = ATTEMPT.search(node["name"])
    return shown if number is None or ATTEMPT.search(shown) else shown + number[0]


def stored(run: RunStatus) -> Iterator[Stored]:
    """What the pods of a run put into the store; of two attempts at a key the later one."""
    pods = [node for node in run.nodes.values() if node.type == "Pod"]
    found = {}
    for node in sorted(pods, key=lambda one: (one.started_at, one.name)):
        for artifact in node.outputs.get("artifacts") or []:
            key = (artifact.get("s3") or {}).get("key")
            if key:
                found[key] = Stored(key, node.id, artifact["name"])
    yield from found.values()


def below(run: RunStatus, key: str) -> list[Stored]:
    """The artifacts that a key names: the one of that key, or all whose keys begin with it as with a folder."""
    return [one for one in stored(run) if one.key == key or one.key.startswith(f"{key}/")]
