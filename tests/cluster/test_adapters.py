"""The platform's adapters on the live cluster: a release is applied, pruned, waited for, asked; an image is built."""

import json
import subprocess
import uuid
from pathlib import Path

import httpx
import pytest
from gpulab.clusters.kubernetes import KubernetesCluster
from gpulab.clusters.kubernetes import cluster as adapter
from gpulab.clusters.kubernetes.records import Records
from gpulab.clusters.protocol import Golden, RefusedError
from gpulab.images.buildkit import BuildKitBuilder, BuildSettings
from gpulab.images.protocol import BuildFailedError, BuildRequest
from gpulab.images.registry import Registry
from gpulab.kubernetes import path_of
from gpulab.kubernetes.connect import connect

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900), pytest.mark.xdist_group("cluster")]

GOLDEN = Golden({"x": [1.0]}, [2.0], 1e-3)
SERVICE = """
import json
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200); self.end_headers()
        self.wfile.write(json.dumps({"outputs": [2.0]}).encode())
HTTPServer(("", 8000), Handler).serve_forever()
"""


@pytest.fixture
def api(cluster, monkeypatch):
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setattr("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", cluster["kubeconfig"])
    return connect()


@pytest.fixture
def slug(api):
    """A project whose three namespaces exist."""
    slug = f"live-{uuid.uuid4().hex[:8]}"
    places = [f"{slug}-{role}" for role in ("ci", "build", "teaching")]
    for name in places:
        api.apply(f"/api/v1/namespaces/{name}", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield slug
    for name in places:
        api.delete(f"/api/v1/namespaces/{name}")


@pytest.fixture
def teaching(api, slug, monkeypatch):
    """Asked by the Service's address: this process has not the cluster's names."""

    def address(documents, deployment, namespace):
        service = api.get(path_of("v1", "Service", namespace, "app"))
        return f"http://{service['spec']['clusterIP']}:80"

    monkeypatch.setattr(adapter, "address", address)
    return KubernetesCluster(api, f"{slug}-teaching", Records(api, f"{slug}-ci", "teaching"))


@pytest.fixture
def release(cluster):
    def make(*command, image=cluster["images"]["steps"], labels=(("app", "app"),), settings="1"):
        labels = dict(labels)
        container = {"name": "serve", "image": image, "command": ["python3", "-c", *command]}
        container |= {"ports": [{"name": "http", "containerPort": 8000}]}
        container |= {"readinessProbe": {"httpGet": {"path": "/readyz", "port": 8000}, "periodSeconds": 1}}
        template = {
            "metadata": {"labels": labels},
            "spec": {"terminationGracePeriodSeconds": 1, "containers": [container]},
        }
        spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
        return [
            {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "app"}, "spec": spec},
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "app"},
                "spec": {"selector": labels, "ports": [{"port": 80, "targetPort": 8000}]},
            },
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"settings-{settings}"}, "data": {}},
        ]

    return make


def test_a_release_is_applied_waited_for_and_asked(teaching, release):
    documents = release(SERVICE)
    teaching.apply(documents)
    smoke = teaching.smoke(documents, GOLDEN)
    assert smoke.passed, smoke.message


def test_what_the_next_release_does_not_hold_is_removed(api, teaching, release):
    teaching.apply(release(SERVICE, settings="1"))
    assert "ConfigMap/settings-1 pruned" in teaching.apply(release(SERVICE, settings="2"))
    assert api.get(path_of("v1", "ConfigMap", teaching.namespace, "settings-1")) is None
    teaching.apply([])
    assert api.get(path_of("apps/v1", "Deployment", teaching.namespace, "app")) is None


def test_our_fields_come_back_and_no_other_is_touched(api, teaching, release):
    """Somebody scales by hand, and another controller writes an annotation of its own."""
    teaching.apply(release(SERVICE))
    path = path_of("apps/v1", "Deployment", teaching.namespace, "app")
    by_hand = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "app", "annotations": {"theirs": "1"}},
    }
    answer = api.http.patch(
        path,
        params={"fieldManager": "somebody", "force": "true"},
        content=json.dumps(by_hand | {"spec": {"replicas": 3}}),
        headers={"Content-Type": "application/apply-patch+yaml"},
    )
    assert answer.is_success, answer.text
    teaching.apply(release(SERVICE))
    found = api.get(path)
    assert (found["spec"]["replicas"], found["metadata"]["annotations"]["theirs"]) == (1, "1")


def test_a_selector_that_changes_is_refused(teaching, release):
    teaching.apply(release(SERVICE))
    with pytest.raises(RefusedError, match="field is immutable"):
        teaching.apply(release(SERVICE, labels=(("app", "other"),)))


def test_a_container_that_crashes_tells_its_last_words(teaching, release):
    documents = release("raise SystemExit('the weights are missing')")
    teaching.apply(documents)
    smoke = teaching.smoke(documents, GOLDEN)
    assert (smoke.passed, smoke.trouble) == (False, False)
    assert smoke.message.endswith("exit code 1 (Error): the weights are missing")


def test_an_image_that_cannot_be_pulled_is_the_platforms_trouble(teaching, release, cluster, monkeypatch):
    monkeypatch.setattr(adapter, "ROLLOUT_SECONDS", 30)
    documents = release(SERVICE, image=f"{cluster['registry']}/nothing@sha256:{'0' * 64}")
    teaching.apply(documents)
    smoke = teaching.smoke(documents, GOLDEN)
    assert (smoke.passed, smoke.trouble) == (False, True)
    assert "the image cannot be pulled" in smoke.message


@pytest.fixture
def repository(cluster, slug, tmp_path):
    """A public repository on the cluster's forge; the answer makes a commit of some files: its clone URL and id."""
    token = Path(cluster["forge"]["token_file"]).read_text(encoding="utf-8").strip()
    api = f"{cluster['forge']['url']}/api/v1"
    headers = {"Authorization": f"token {token}"}
    httpx.post(f"{api}/user/repos", json={"name": slug}, headers=headers).raise_for_status()
    owner = httpx.get(f"{api}/user", headers=headers).json()["login"]
    url = f"{cluster['forge']['url']}/{owner}/{slug}.git"

    def commit(**files):
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-C", str(tmp_path)]
        subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-q", "-m", "a"], check=True)
        authorised = url.replace("://", f"://{owner}:{token}@")
        subprocess.run([*git, "push", "-q", authorised, "main"], check=True)
        return url, subprocess.run(
            [*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True
        ).stdout.strip()

    yield commit
    httpx.delete(f"{api}/repos/{owner}/{slug}", headers=headers)


@pytest.fixture
def build(api, cluster, slug, tmp_path):
    def run(url, revision):
        images, repository = cluster["images"], f"{cluster['registry']}/{slug}"
        lanes = {"cpu": images["runtime-cpu"]}
        settings = BuildSettings(
            f"{slug}-build", images["buildkit"], "privileged", url, repository, lanes, insecure=True
        )
        builder = BuildKitBuilder(api, settings, Registry(httpx.Client(), repository, insecure=True))
        return builder.build(BuildRequest(tmp_path, revision, "unused", "cpu", "push-1"))

    return run


def test_a_commit_is_built_on_its_lane_and_pushed_by_digest(repository, build, cluster):
    built = build(*repository(Dockerfile='ARG LANE=x\nFROM ${LANE}\nCOPY a /a\nRUN python3 -c "import torch"\n', a="1"))
    assert (built.kind, built.base) == ("image", cluster["images"]["runtime-cpu"])


def test_a_commit_that_does_not_build_is_a_verdict(repository, build):
    with pytest.raises(BuildFailedError, match="exit code 1: ModuleNotFoundError: No module named 'nosuch'"):
        build(*repository(Dockerfile='ARG LANE=x\nFROM ${LANE}\nRUN python3 -c "import nosuch"\n'))
