"""A process is known by its id and start time."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from testcluster import processes, up
from testcluster.errors import UsageError
from testcluster.layout import Layout

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")


@pytest.fixture
def layout(tmp_path, monkeypatch):
    monkeypatch.setenv("GPULAB_CLUSTER_TOOLS", str(tmp_path / "tools"))
    found = Layout(tmp_path / "run", tmp_path / "data")
    yield found
    processes.stop(*processes.marked(found), grace=0)


def started(layout, part="sleeper"):
    return processes.start(layout, part, ["sleep", "60"], {"PATH": os.environ["PATH"]}, "digest")


def test_a_started_process_is_recorded_marked_and_stopped(layout):
    record = started(layout)
    assert record.alive
    assert processes.recorded(layout, "sleeper") == record
    while not list(processes.marked(layout)):  # a program's environment is seen a moment after it has started
        pass
    assert list(processes.marked(layout)) == [record.pid]
    processes.stop(record.pid)
    assert not record.alive
    assert list(processes.marked(layout)) == []


def test_a_second_cluster_on_the_machine_is_refused(layout, tmp_path):
    started(layout)
    other = Layout(tmp_path / "other", tmp_path / "data")
    while str(layout.run) not in processes.others(other):
        pass
    with pytest.raises(UsageError, match=f"a cluster is up in .*{layout.run}.*: type .* down"), up.alone(other):
        pass


def test_another_process_with_the_same_id_is_not_ours(layout):
    stranger = subprocess.Popen(["sleep", "60"])
    record = processes.Record("etcd", stranger.pid, 1, "digest")
    assert not record.alive
    assert stranger.pid not in processes.marked(layout)
    stranger.kill()
    stranger.wait()


def test_a_process_that_ended_but_is_not_collected_is_not_alive(layout):
    record = started(layout)
    os.kill(record.pid, 9)
    while processes.start_time(record.pid) is not None:
        pass
    assert not record.alive


@pytest.mark.parametrize("text", ["", "{", "[]", '{"part": "etcd"}', json.dumps({"pid": 1, "other": 2})])
def test_a_broken_record_is_no_record(layout, text):
    layout.records.mkdir(parents=True)
    (layout.records / "etcd.json").write_text(text)
    assert processes.recorded(layout, "etcd") is None


def test_a_start_that_was_not_recorded_is_ended_before_the_next(layout):
    record, kept = started(layout), started(layout, "kept")
    processes.forget(layout, "sleeper")
    while len(list(processes.marked(layout))) < 2:
        pass
    up.end_strays(layout)
    assert not record.alive
    assert kept.alive
