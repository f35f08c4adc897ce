"""The wall clock is set back or forward between two commands: what is newest stays newest."""

import os
import time
from pathlib import Path

import pytest
from gpulab.cli.local_project import started_at
from gpulab.engines.local import record
from gpulab.engines.local.client import LocalEngine
from gpulab.engines.local.settings import EngineSettings
from gpulab.engines.protocol import NodeStatus, Phase, RunStatus
from gpulab.events import Event, PushEvent
from gpulab.forges.local import outbox
from gpulab.home import Home

TEMPLATE = {
    "kind": "WorkflowTemplate",
    "metadata": {"name": "test"},
    "spec": {
        "entrypoint": "main",
        "templates": [{"name": "main", "container": {"image": "steps:test", "command": ["true"]}}],
    },
}


def test_the_last_run_is_the_last_one_though_the_clock_was_set_back(tmp_path: Path) -> None:
    engine = LocalEngine(EngineSettings(str(tmp_path), platform_images=("steps:test",)))
    for number in range(3):
        engine.submit(f"run-{number}", TEMPLATE, {})
        assert [*engine.follow(f"run-{number}")][-1].phase is Phase.SUCCEEDED
        ahead = time.time() + 86400 * (10 - number)  # the clock ran ahead while this one was submitted
        os.utime(engine.folder(f"run-{number}") / "workflow.yaml", (ahead, ahead))
        if number:
            break
    engine.submit("run-9", TEMPLATE, {})
    folders = sorted((tmp_path / "runs").iterdir(), key=started_at)
    assert [folder.name for folder in folders] == ["run-1", "run-0", "run-9"]
    assert [*engine.follow("run-9")][-1].phase is Phase.SUCCEEDED


def test_events_are_delivered_in_order_though_the_clock_goes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments = iter([10**18, 10**17, 10**17, 10**18, 5])
    monkeypatch.setattr(outbox.time, "time_ns", lambda: next(moments))
    events = [PushEvent("refs/heads/main", "0" * 40, digit * 40) for digit in "abcde"]
    for event in events:
        outbox.put(Home(tmp_path), event)
    delivered: list[Event] = []
    outbox.take(Home(tmp_path), delivered.append)
    assert delivered == events


def test_the_end_of_a_killed_run_is_not_before_its_beginning(tmp_path: Path) -> None:
    ahead = "2999-01-01T00:00:00.000Z"
    node = NodeStatus("n", "n", "n", "Pod", "", "", Phase.RUNNING, started_at=ahead)
    run = RunStatus("run", Phase.RUNNING, started_at="2998-01-01T00:00:00.000Z", nodes={"n": node})
    record.end_killed(run)
    assert (node.finished_at, run.finished_at) == (ahead, ahead)
