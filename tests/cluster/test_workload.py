"""What the other tests rely on: pods run by digest, find names, are kept apart, and see simulated GPUs."""

import json
import uuid
from functools import partial

import pytest

from . import installing

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900), pytest.mark.xdist_group("cluster")]

PROBE = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=3).close()
    print("reached")
except OSError:
    print("refused")
"""
IMPORTS = """
import socket
import hera.workflows.runner, gpulab.steps.release, model_tests, torch
print(socket.gethostbyname("kubernetes.default.svc.cluster.local"), (torch.ones(2).half() * 2).sum().item())
"""
DENY = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "NetworkPolicy",
    "metadata": {"name": "deny"},
    "spec": {"podSelector": {"matchLabels": {"kept": "apart"}}, "policyTypes": ["Ingress", "Egress"]},
}


@pytest.fixture
def kubectl(cluster):
    return partial(installing.kubectl, cluster)


@pytest.fixture
def namespace(kubectl):
    name = f"probe-{uuid.uuid4().hex[:8]}"
    kubectl("create", "namespace", name)
    yield name
    kubectl("delete", "namespace", name, "--timeout=120s")  # ends only when no API is stale


@pytest.fixture
def pod(cluster, kubectl, namespace):
    """Run a line of Python in a pod; the answer is what it printed."""

    def run(*command, labels=None, **more):
        name = f"pod-{uuid.uuid4().hex[:8]}"
        container = {"name": "main", "image": cluster["images"]["steps"], "command": ["python3", "-c", *command]}
        container |= {"resources": more.pop("resources", {})}
        spec = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container], **more}
        written = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels or {}}, "spec": spec}
        kubectl("apply", "-n", namespace, "-f", "-", text=json.dumps(written))
        ended = "--for=jsonpath={.status.containerStatuses[0].state.terminated}"
        kubectl("wait", "-n", namespace, f"pod/{name}", ended, "--timeout=300s")
        found = json.loads(kubectl("get", "pod", name, "-n", namespace, "-o", "json"))
        return kubectl("logs", "-n", namespace, name).strip(), found["spec"]["nodeName"]

    return run


def test_the_steps_image_has_python_packages_names_and_half_precision(pod):
    said, node = pod(IMPORTS)
    assert said.splitlines()[-1] == "10.96.0.1 4.0"
    assert node == "node-cpu"  # the others are tainted


@pytest.mark.parametrize(("node", "product"), [("node-t4", "Tesla-T4"), ("node-v100", "Tesla-V100-SXM2-16GB")])
def test_a_pod_that_asks_for_a_gpu_runs_where_that_gpu_is(pod, node, product):
    tolerated = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    wanted = {"limits": {"nvidia.com/gpu": "2"}}
    selected = {"nvidia.com/gpu.product": product}
    assert pod("print(1)", resources=wanted, tolerations=tolerated, nodeSelector=selected) == ("1", node)


def test_pods_reach_the_services_beside_the_cluster(pod, cluster):
    for address in (cluster["s3"]["endpoint"], cluster["forge"]["url"], cluster["apiserver"]):
        host, _, port = address.partition("//")[2].partition(":")
        assert pod(PROBE, host, port)[0] == "reached", address


def test_a_policy_cuts_off_the_pods_that_it_names_and_no_others(pod, kubectl, namespace, cluster):
    kubectl("apply", "-n", namespace, "-f", "-", text=json.dumps(DENY))
    host, _, port = cluster["s3"]["endpoint"].partition("//")[2].partition(":")
    wait = "import time; time.sleep(3)\n"  # the firewall learns a pod's address a moment after its start
    assert pod(wait + PROBE, host, port, labels={"kept": "apart"})[0] == "refused"
    assert pod(wait + PROBE, host, port)[0] == "reached"


def test_pods_do_not_reach_the_stores_port_without_keys(pod, cluster):
    assert pod(PROBE, cluster["node_ip"], "18333")[0] == "refused"


def test_argos_definitions_are_there(kubectl):
    found = kubectl("get", "crds", "-o", "name")
    assert "workflowtemplates.argoproj.io" in found
    assert "workfloweventbindings.argoproj.io" in found
