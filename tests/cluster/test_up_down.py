"""The cluster comes up, comes up again after trouble, and leaves nothing behind."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from testcluster import host, leftovers, processes
from testcluster.layout import NODE_IP, NODES, ROUTER_HEALTH, Layout

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900), pytest.mark.xdist_group("cluster")]

PROGRAM = Path(__file__).with_name("cluster.py")
STATE = Path("/run/gpulab-cluster-test")


@pytest.fixture(scope="module")
def layout():
    """A cluster of this module's own, in its own folder; nothing may be up, since addresses are the machine's."""
    if os.environ.get("KUBECONFIG"):
        pytest.skip("KUBECONFIG names a cluster that is up; this module needs the machine for itself")
    layout = Layout.at(STATE)
    yield layout
    run("down", "--purge")


def run(*words, check=True):
    line = [sys.executable, str(PROGRAM), *words, "--state", str(STATE)]
    done = subprocess.run(line, text=True, capture_output=True, check=False)
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


def pids(layout):
    return {file.stem: json.loads(file.read_text())["pid"] for file in layout.records.glob("*.json")}


def test_an_up_killed_half_way_is_finished_by_the_next(layout):
    line = [sys.executable, str(PROGRAM), "up", "--bare", "--state", str(STATE)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as half:
        assert half.stdout is not None
        half.stdout.readline()  # the first part is ready
        half.send_signal(signal.SIGKILL)
    (layout.records / "etcd.json").unlink()  # as if it had died between starting etcd and writing that down
    assert run("status", check=False).returncode == 3
    run("up", "--bare")
    assert run("status").returncode == 0
    etcds = [pid for pid in processes.marked(layout) if _name(pid) == "etcd"]
    assert etcds == [pids(layout)["etcd"]]


def test_up_again_changes_nothing(layout):
    before = pids(layout)
    run("up", "--bare")
    assert pids(layout) == before


def test_a_part_that_died_is_started_again_and_only_that(layout):
    before = pids(layout)
    os.kill(before["kube-scheduler"], signal.SIGKILL)
    assert "kube-scheduler             not running" in run("status", check=False).stdout
    run("up", "--bare")
    after = pids(layout)
    assert after.pop("kube-scheduler") != before.pop("kube-scheduler")
    assert after == before


def test_every_node_is_there_and_gpus_are_simulated(layout):
    kubectl = json.loads(layout.description.read_text())["kubectl"]
    line = [kubectl, f"--kubeconfig={layout.kubeconfig}", "get", "nodes", "-o", "json"]
    nodes = json.loads(subprocess.run(line, capture_output=True, check=True).stdout)["items"]
    found = {node["metadata"]["name"]: node["status"]["allocatable"].get("nvidia.com/gpu", "0") for node in nodes}
    assert found == {node.name: str(node.gpus) for node in NODES}


def test_secrets_are_for_root_only(layout):
    for folder in ("pki", "kubeconfig", "secrets"):
        for file in (layout.run / folder).iterdir():
            assert file.stat().st_mode & 0o077 == 0 or file.suffix == ".crt", file


def test_nothing_listens_beyond_the_bridge_and_this_machine(layout):
    ours = set(processes.marked(layout))
    for line in host.run("ss", "-Hltnp").splitlines():
        owners = {int(pid) for pid in re.findall(r"pid=(\d+)", line)}
        if owners & ours:
            address, _, port = line.split()[3].rpartition(":")
            assert address in (NODE_IP, "127.0.0.1") or int(port) == ROUTER_HEALTH, line  # its packets are dropped


def test_down_leaves_nothing_and_spares_strangers(layout):
    stranger = subprocess.Popen(["sleep", "300"])
    record = layout.records / "coredns.json"
    processes.stop(json.loads(record.read_text())["pid"])
    written = {"part": "coredns", "pid": stranger.pid, "started": 1, "command": ""}
    record.write_text(json.dumps(written))  # its process is gone and its id is another's now
    run("down")
    assert stranger.poll() is None
    stranger.terminate()
    stranger.wait()
    assert leftovers.everything(layout) == []
    assert not layout.run.exists()
    run("down")


def _name(pid):
    return Path(f"/proc/{pid}/comm").read_text().strip()
