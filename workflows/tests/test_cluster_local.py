from pathlib import Path

import pytest
from gpulab.clusters.local import LocalCluster
from gpulab.clusters.protocol import Golden
from gpulab.home import Home
from gpulab.images.layout import Layout
from gpulab.images.protocol import BuildRequest
from gpulab.images.source_artifact import SourceArtifactBuilder

GOLDEN = Golden(inputs={"x": [[2.0]]}, outputs=[[4.0]], rtol=1e-3)
SERVICE = """
import json, os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/readyz" else 404)
        self.end_headers()
    def do_POST(self):
        x = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["inputs"]["x"][0][0]
        body = json.dumps({"outputs": [[x * FACTOR]]}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

FACTOR = float(os.environ["FACTOR"])
HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"""


def config_map(name: str, value: str) -> dict[str, object]:
    return {"kind": "ConfigMap", "metadata": {"name": name, "namespace": "lab"}, "data": {"value": value}}


@pytest.fixture
def cluster(tmp_path: Path) -> LocalCluster:
    return LocalCluster(Home(tmp_path / ".gpulab"), "teaching")


def test_apply_says_what_changed_and_prunes_what_is_gone(cluster: LocalCluster) -> None:
    assert cluster.current() is None
    assert cluster.apply([config_map("a", "1"), config_map("b", "1")]) == [
        "lab.ConfigMap.a created",
        "lab.ConfigMap.b created",
    ]
    assert cluster.apply([config_map("a", "2"), config_map("c", "1")]) == [
        "lab.ConfigMap.b pruned",
        "lab.ConfigMap.a configured",
        "lab.ConfigMap.c created",
    ]
    assert cluster.apply([config_map("a", "2"), config_map("c", "1")])[0].endswith("unchanged")
    assert cluster.current() is None
    cluster.keep({"source": "two"})
    assert cluster.current() == {"source": "two"}


def test_what_was_applied_and_never_answered_is_not_the_current_release(cluster: LocalCluster) -> None:
    cluster.apply([config_map("a", "1")])
    cluster.keep({"source": "one"})
    cluster.apply([config_map("a", "2")])
    assert cluster.current() == {"source": "one"}


def test_an_environment_whose_first_release_was_taken_out_runs_nothing(cluster: LocalCluster) -> None:
    cluster.apply([config_map("a", "1")])
    cluster.apply([])
    assert cluster.current() is None
    assert list((cluster.folder / "objects").iterdir()) == []


def deployment(cluster: LocalCluster, tmp_path: Path, source: str, factor: str = "2") -> dict[str, object]:
    (tmp_path / "source" / "src").mkdir(parents=True)
    (tmp_path / "source" / "src" / "service.py").write_text(source)
    request = BuildRequest(tmp_path / "source", "0" * 40, "lab", "cpu", "push-1")
    image = SourceArtifactBuilder(Layout(cluster.home.images)).build(request).reference
    container = {
        "name": "serve",
        "image": image,
        "command": ["python", "-m", "service"],
        "env": [{"name": "FACTOR", "value": factor}],
    }
    return {"kind": "Deployment", "spec": {"template": {"spec": {"containers": [container]}}}}


def test_the_service_is_started_asked_and_stopped(cluster: LocalCluster, tmp_path: Path) -> None:
    smoke = cluster.smoke([deployment(cluster, tmp_path, SERVICE)], GOLDEN)
    assert smoke.passed, smoke.message
    assert "golden request answered" in smoke.message


def test_a_wrong_answer_fails(cluster: LocalCluster, tmp_path: Path) -> None:
    smoke = cluster.smoke([deployment(cluster, tmp_path, SERVICE, factor="3")], GOLDEN)
    assert not smoke.passed
    assert "away from the proven one" in smoke.message


def test_a_service_that_ends_tells_its_last_words(cluster: LocalCluster, tmp_path: Path) -> None:
    smoke = cluster.smoke([deployment(cluster, tmp_path, "raise SystemExit('no weights here')")], GOLDEN)
    assert not smoke.passed
    assert "no weights here" in smoke.message


def test_a_release_without_a_deployment_cannot_be_asked(cluster: LocalCluster) -> None:
    assert not cluster.smoke([config_map("a", "1")], GOLDEN).passed


def test_a_service_that_writes_beside_its_code_changes_no_image(cluster: LocalCluster, tmp_path: Path) -> None:
    """The unpacked image is what every later run of the same digest starts from."""
    source = 'open("src/service.py", "a").write("raise SystemExit(1)\\n"); open("left", "w").close()\n' + SERVICE
    release = deployment(cluster, tmp_path, source)
    for _ in range(2):
        assert cluster.smoke([release], GOLDEN).passed
    unpacked = next((cluster.home.root / "unpacked").glob("*/app"))
    assert (unpacked / "src" / "service.py").read_text() == source
    assert not (unpacked / "left").exists()
