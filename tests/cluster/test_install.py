"""The installation on a real API server: ready, looked at by doctor, upgraded; admission refuses what it must."""

import json
import subprocess
import sys

import pytest

from .installing import install, write_overlay

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900), pytest.mark.xdist_group("cluster")]

RUNTIME_CLASS = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "nvidia"},
    "handler": "nvidia",
}
TENANT = {"gpulab/project": "probe", "gpulab/role": "production"}


@pytest.fixture(scope="module")
def overlay(cluster, tmp_path_factory):
    folder = write_overlay(tmp_path_factory.mktemp("platform"), cluster, components=("admission",))
    install(cluster, folder)
    return folder


@pytest.fixture
def gpulab(cluster, tmp_path):
    def call(*words):
        line = [sys.executable, "-m", "gpulab.cli", *words]
        environment = {"KUBECONFIG": cluster["kubeconfig"], "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
        return subprocess.run(line, env=environment, capture_output=True, text=True, check=False)

    return call


@pytest.fixture
def apply(cluster):
    def call(document):
        line = [cluster["kubectl"], f"--kubeconfig={cluster['kubeconfig']}", "apply", "-f", "-"]
        return subprocess.run(line, input=json.dumps(document), text=True, capture_output=True, check=False)

    return call


def test_doctor_finds_the_platform_as_it_should_be(overlay, gpulab):
    done = gpulab("doctor", "--allow-old", "--json", "--overlay", str(overlay))
    checks = json.loads(done.stdout)["checks"]
    wrong = [one for one in checks if one["level"] == "FAIL" and not one["name"].startswith("tenant ")]
    assert wrong == []
    assert {"Deployment argo/argo-server", "pipelines cannot be overridden"} <= {one["name"] for one in checks}


def test_an_upgrade_to_the_same_is_nothing(overlay, gpulab):
    done = gpulab("platform", "upgrade", "--overlay", str(overlay))
    assert done.returncode == 0, done.stderr
    assert "nothing to do" in done.stdout


def test_a_change_is_shown_and_applied_only_when_asked_for(overlay, gpulab):
    settings = overlay / "platform.env"
    before = settings.read_text()
    settings.write_text(before + "GPULAB_S3_REGION=elsewhere\n")
    try:
        shown = gpulab("platform", "upgrade", "--overlay", str(overlay))
        assert "GPULAB_S3_REGION: elsewhere" in shown.stdout
        assert "nothing was changed" in shown.stdout
        assert "GPULAB_S3_REGION: elsewhere" in gpulab("platform", "upgrade", "--overlay", str(overlay)).stdout
        assert "applied" in gpulab("platform", "upgrade", "--overlay", str(overlay), "--yes").stdout
        assert "nothing to do" in gpulab("platform", "upgrade", "--overlay", str(overlay)).stdout
    finally:
        settings.write_text(before)
        gpulab("platform", "upgrade", "--overlay", str(overlay), "--yes")


def pod(name, image, **more):
    security = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "runAsUser": 1,
    }
    security |= {"seccompProfile": {"type": "RuntimeDefault"}}
    environment = more.pop("env", [])
    container = {"name": "main", "image": image, "securityContext": security, "env": environment}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "probe-production"},
        "spec": {"containers": [container], **more},
    }


def test_the_api_server_refuses_tags_and_other_ways_to_a_gpu(overlay, apply, cluster):
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "probe-production", "labels": TENANT}}
    digest, tag = cluster["images"]["pause"], cluster["images"]["pause"].partition("@")[0] + ":1"
    everything = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]
    try:
        assert apply(namespace).returncode == 0
        assert "pinned by digest" in apply(pod("tag", tag)).stderr
        assert "NVIDIA_VISIBLE_DEVICES" in apply(pod("env", digest, env=everything)).stderr
        assert apply(RUNTIME_CLASS).returncode == 0
        assert "runtimeClassName" in apply(pod("class", digest, runtimeClassName="nvidia")).stderr
        assert apply(pod("right", digest)).returncode == 0
    finally:
        line = [cluster["kubectl"], f"--kubeconfig={cluster['kubeconfig']}", "delete", "namespace", "probe-production"]
        subprocess.run(line, check=False, capture_output=True)
