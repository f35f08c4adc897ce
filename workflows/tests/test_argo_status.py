"""Workflows as Argo wrote them (statuses of its own test suite, v4.0.5) become the status that every engine reports."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from gpulab.engines.argo.events import workflows
from gpulab.engines.argo.status import below, run_status, stored
from gpulab.engines.protocol import Phase
from gpulab.errors import PlatformError

RECORDED = Path(__file__).parent / "resources" / "argo"


def recorded(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((RECORDED / f"{name}.json").read_text())
    return document


SHOWN = {
    "dag-diamond": (Phase.SUCCEEDED, {"A": "Pod Succeeded", "B": "Pod Succeeded", "D": "Pod Succeeded"}),
    "dag-containerset": (Phase.RUNNING, {"A": "Pod Succeeded", "B": "Pod Pending"}),
    "exit-handlers": (Phase.FAILED, {"celebrate": "Skipped Skipped", "[0]": "StepGroup Succeeded"}),
    "workflow-retry": (Phase.FAILED, {"launch": "TaskGroup Failed", "launch(1:fail)": "Retry Failed"}),
    "reproduce-bug": (Phase.RUNNING, {"finish": "Skipped Omitted", "process-tasks(3:3)(0)": "Pod Failed"}),
}


@pytest.mark.parametrize("name", SHOWN)
def test_phases_types_and_names_are_argos(name: str) -> None:
    run = run_status(recorded(name))
    phase, nodes = SHOWN[name]
    assert run.phase is phase
    found = {node.display_name: f"{node.type} {node.phase}" for node in run.nodes.values()}
    assert found | nodes == found


def test_every_link_between_nodes_leads_to_a_node() -> None:
    for file in RECORDED.glob("*.json"):
        run = run_status(recorded(file.stem))
        for node in run.nodes.values():
            assert {*node.children, *node.outbound, *filter(None, [node.boundary])} <= set(run.nodes), file.name


def test_a_workflow_that_no_controller_saw_is_pending() -> None:
    new = {"metadata": {"name": "x", "creationTimestamp": "2026-01-01T00:00:00Z"}}
    assert (run_status(new).phase, run_status(new).started_at) == (Phase.PENDING, "2026-01-01T00:00:00Z")


def test_compressed_nodes_are_unpacked() -> None:
    plain = recorded("dag-diamond")
    packed = base64.b64encode(gzip.compress(json.dumps(plain["status"]["nodes"]).encode())).decode()
    small = {**plain, "status": {"phase": "Succeeded", "compressedNodes": packed}}
    assert run_status(small).nodes == run_status(plain).nodes


def pod(name: str, started: str, *keys: str) -> dict[str, Any]:
    artifacts = [{"name": key.rpartition("/")[2], "s3": {"key": key}} for key in keys]
    node = {"id": name, "name": name, "type": "Pod", "phase": "Failed", "startedAt": started}
    return node | {"outputs": {"artifacts": [*artifacts, {"name": "no-key"}]}}


def test_of_two_attempts_the_later_ones_artifact_counts() -> None:
    nodes = [pod("x(1)", "2026-01-01T00:00:09Z", "lab/run/a"), pod("x(0)", "2026-01-01T00:00:01Z", "lab/run/a")]
    run = run_status({"metadata": {"name": "run"}, "status": {"nodes": {node["id"]: node for node in nodes}}})
    assert [(one.key, one.node) for one in stored(run)] == [("lab/run/a", "x(1)")]


def test_an_attempt_keeps_its_number_where_the_template_names_its_nodes() -> None:
    named = {"displayName": "verify-t4"}
    nodes = [pod("r.verify(0:t4)", "") | named, pod("r.verify(0:t4)(1)", "") | named]
    run = run_status({"metadata": {"name": "r"}, "status": {"nodes": {node["id"]: node for node in nodes}}})
    assert [node.display_name for node in run.nodes.values()] == ["verify-t4", "verify-t4(1)"]


def test_a_key_names_a_file_or_all_below_it() -> None:
    node = pod("x", "", "lab/run/verify/cpu.json", "lab/run/verify/t4.json", "lab/run/verify.json")
    run = run_status({"metadata": {"name": "run"}, "status": {"nodes": {"x": node}}})
    assert [one.key for one in below(run, "lab/run/verify")] == ["lab/run/verify/cpu.json", "lab/run/verify/t4.json"]
    assert [one.key for one in below(run, "lab/run/verify.json")] == ["lab/run/verify.json"]
    assert below(run, "lab/run/ver") == []


def test_a_stream_tells_workflows_and_its_own_end() -> None:
    lines = [":keepalive", "", 'data: {"result":{"type":"ADDED","object":{"metadata":{"name":"x"}}}}', "event: message"]
    assert list(workflows(lines)) == [{"metadata": {"name": "x"}}]
    with pytest.raises(PlatformError, match="EOF"):
        list(workflows([*lines, 'data: {"error":{"grpc_code":8,"http_code":429,"message":"EOF"}}']))
    with pytest.raises(PlatformError, match="middle"):
        list(workflows(['data: {"result":{"ty']))
