"""The whole path on a live cluster: a push is judged, released and answered for; a pull request promotes it."""

import json
import secrets
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from .installing import install, kubectl, write_overlay
from .living import Forge, Student, enrol, objects, wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(2400), pytest.mark.xdist_group("cluster")]


@pytest.fixture(scope="module")
def forge(cluster) -> Forge:
    token = Path(cluster["forge"]["token_file"]).read_text(encoding="utf-8").strip()
    return Forge(cluster["forge"]["url"].rstrip("/"), token)


@pytest.fixture(scope="module")
def platform(cluster, tmp_path_factory):
    """Installed as docs/install.md says."""
    install(cluster, write_overlay(tmp_path_factory.mktemp("platform"), cluster))
    keys = json.loads(Path(cluster["s3"]["keys_file"]).read_text(encoding="utf-8"))
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "gpulab-artifacts", "namespace": "gpulab"},
        "stringData": {"accesskey": keys["accessKey"], "secretkey": keys["secretKey"]},
    }
    kubectl(cluster, "apply", "-f", "-", text=json.dumps(secret))


@pytest.fixture(scope="module")
def student(cluster, forge, platform, tmp_path_factory) -> Iterator[Student]:
    student = enrol(cluster, forge, tmp_path_factory.mktemp("student"), f"Live {secrets.token_hex(3)}")
    yield student
    student.leave()


@pytest.fixture(scope="module")
def released(cluster, student) -> str:
    """A commit that was pushed, judged and released to teaching."""
    student.edit("README.md", "# ", "# My ")
    began, commit = time.time(), student.push()
    name = f"push-{commit[:12]}-"
    wait_for(lambda: started(cluster, f"{student.slug}-ci", name), "a workflow", 60)
    assert time.time() - began < 60
    state, words = student.settled(commit, "gpulab/push")
    assert state == "success", f"{words}\n{explained(cluster, student)}"
    return commit


def started(cluster, namespace: str, prefix: str) -> list[str]:
    """The workflows whose name begins so."""
    names = [one["metadata"]["name"] for one in objects(cluster, namespace, "workflows")]
    return [name for name in names if name.startswith(prefix)]


def explained(cluster, student: Student) -> str:
    """Why a run ended as it did: the messages of its nodes."""
    lines = []
    for run in objects(cluster, f"{student.slug}-ci", "workflows"):
        lines.append(f"{run['metadata']['name']}: {run['status'].get('phase')} {run['status'].get('message', '')}")
        for node in run["status"].get("nodes", {}).values():
            if node.get("message"):
                lines.append(f"  {node['displayName']}: {node['phase']}: {node['message']}")
    return "\n".join(lines)


def test_a_push_is_judged_released_and_answered_for(cluster, student, released):
    deploy = wait_for(lambda: student.head("deploy/teaching"), "deploy/teaching")
    state, words = student.settled(deploy, "gpulab/sync-teaching")
    assert state == "success", f"{words}\n{explained(cluster, student)}"
    assert "golden request answered" in words
    (deployment,) = objects(cluster, f"{student.slug}-teaching", "deployments")
    image = deployment["spec"]["template"]["spec"]["containers"][0]["image"]
    assert image.startswith(f"{cluster['registry']}/{student.slug}@sha256:")
    assert image.rpartition("@")[2] in student.git("show", "FETCH_HEAD:release.json")
    assert deployment["status"]["availableReplicas"] == 1


def test_the_report_opens_with_the_students_own_token(cluster, student, released):
    base, namespace = student.environment["GPULAB_ARGO_URL"], f"{student.slug}-ci"
    headers = {"Authorization": f"Bearer {student.environment['GPULAB_ARGO_TOKEN']}"}
    runs = httpx.get(f"{base}/api/v1/workflows/{namespace}", headers=headers, timeout=30).json()["items"]
    run = next(one for one in runs if one["metadata"]["name"].startswith(f"push-{released[:12]}"))
    node = next(one for one in run["status"]["nodes"].values() if one["displayName"] == "release")
    url = f"{base}/artifact-files/{namespace}/workflows/{run['metadata']['name']}/{node['id']}/outputs/report"
    page = httpx.get(url, headers=headers, timeout=60)
    assert (page.status_code, page.headers["content-type"].partition(";")[0]) == (200, "text/html")
    assert "PASS" in page.text
    refused = httpx.get(f"{base}/api/v1/workflows/kube-system", headers=headers, timeout=30)
    assert refused.status_code == 403


def test_what_a_student_types_works_without_a_cluster_of_their_own(cluster, student, released):
    shown = student.gpulab("status")
    assert shown.returncode == 0, shown.stderr
    assert released[:12] in shown.stdout


def test_production_serves_the_same_digest_after_a_pull_request(cluster, student, released):
    student.settled(student.head("deploy/teaching"), "gpulab/sync-teaching")
    opened = student.gpulab("promote")
    assert opened.returncode == 0, opened.stdout + opened.stderr + explained(cluster, student)
    (pull,) = student.forge.ask("GET", f"repos/{student.repository}/pulls?state=open")
    assert pull["base"]["ref"] == "deploy/production"
    with pytest.raises(AssertionError, match=r"rejected|protected"):
        student.git("push", "origin", f"{pull['head']['sha']}:deploy/production")
    student.forge.ask("POST", f"repos/{student.repository}/pulls/{pull['number']}/merge", Do="fast-forward-only")
    head = student.head("deploy/production")
    state, words = student.settled(head, "gpulab/sync-production")
    assert state == "success", f"{words}\n{explained(cluster, student)}"
    images = {
        objects(cluster, f"{student.slug}-{one}", "deployments")[0]["spec"]["template"]["spec"]["containers"][0][
            "image"
        ]
        for one in ("teaching", "production")
    }
    assert len(images) == 1


FAULTS = {"rope": "fp32/right", "nan": "tests"}
"""What is planted, and the gate that the commit's status names first."""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_a_failure_and_releases_nothing(cluster, student, released, fault):
    before = student.head("deploy/teaching")
    planted = student.gpulab("break", fault)
    assert planted.returncode == 0, planted.stderr
    student.git("commit", "-qam", f"Plant {fault}")
    try:
        state, said = student.settled(student.push(), "gpulab/push")
        assert (state, FAULTS[fault] in said) == ("failure", True), f"{said}\n{explained(cluster, student)}"
        assert student.head("deploy/teaching") == before
    finally:
        student.git("revert", "--no-edit", "HEAD")


BROKEN = {
    "a Dockerfile that does not build": ("Dockerfile", "WORKDIR /app", "WORKDIR /app\nRUN false", "image"),
    "a test that fails": (
        "tests/test_model.py",
        "def test_",
        "def test_wrong():\n    assert False\n\n\ndef test_",
        "tests",
    ),
    "a contract that is wrong": ("lab.toml", "iterations = 20", "iterations = 0", "contract"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_mistake_is_told_at_the_commit(cluster, student, released, name):
    path, before, after, gate = BROKEN[name]
    student.edit(path, before, after)
    try:
        state, said = student.settled(student.push(), "gpulab/push")
        assert (state, gate in said) == ("failure", True), f"{said}\n{explained(cluster, student)}"
    finally:
        student.git("revert", "--no-edit", "HEAD")


def test_a_run_that_is_ended_by_hand_is_no_verdict_and_is_not_left_pending(cluster, student, released):
    """Argo runs no exit handler then; `reconcile` closes the status at its next turn."""
    student.edit("README.md", "## Start", "## Begin")
    commit, namespace = student.push(), f"{student.slug}-ci"
    name = f"push-{commit[:12]}-"
    (run,) = wait_for(lambda: started(cluster, namespace, name), "a workflow", 60)
    end = '{"spec":{"shutdown":"Terminate"}}'
    kubectl(cluster, "patch", "workflow", run, "-n", namespace, "--type=merge", "-p", end)
    state, said = student.settled(commit, "gpulab/push")
    assert state == "error", said
    assert "counts against nobody" in said


def test_doctor_finds_the_tenant_as_it_should_be(student, released):
    done: subprocess.CompletedProcess[str] = student.gpulab("doctor", "--allow-old")
    assert done.returncode == 0, done.stdout
