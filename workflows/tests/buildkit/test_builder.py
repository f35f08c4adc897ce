"""A build from the step's side: what becomes of the pod becomes an image, a verdict or the platform's trouble."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from gpulab.errors import PlatformError
from gpulab.images.buildkit import BuildKitBuilder
from gpulab.images.buildkit.settings import BuildSettings
from gpulab.images.protocol import BuildFailedError, BuildRequest
from gpulab.images.registry import Registry
from gpulab.kubernetes import Api

Json = dict[str, Any]
RECORDED = Path(__file__).parents[1] / "resources" / "buildkit"
DIGEST = f"sha256:{'a' * 64}"
LANE = f"registry.example/runtime-cpu@sha256:{'1' * 64}"
REQUEST = BuildRequest(Path("unused"), "0" * 40, "gpulab.local/lab", "cpu", "push-1")
SETTINGS = BuildSettings(
    "lab-build",
    "registry.example/buildkit",
    "rootless",
    "https://forge.example/l.git",
    "registry.example/lab",
    {"cpu": LANE},
)
PODS = "/api/v1/namespaces/lab-build/pods"
POD = f"{PODS}/build-push-1"


class Cluster:
    """Runs a build pod in no time: it becomes `status`, with `log`, and the registry holds `pushed`."""

    def __init__(self, status: Json, log: str = "", pushed: bool = True) -> None:
        self.status, self.log, self.pushed = status, log, pushed
        self.pods: dict[str, Json] = {}
        self.changes: list[tuple[str, str]] = []

    def builder(self) -> BuildKitBuilder:
        ticks = itertools.count(step=10.0)
        api = Api(httpx.Client(base_url="https://k", transport=httpx.MockTransport(self._kubernetes)), lambda _: None)
        registry = Registry(httpx.Client(transport=httpx.MockTransport(self._registry)), SETTINGS.repository)
        return BuildKitBuilder(api, SETTINGS, registry, lambda: next(ticks), lambda _: None)

    def _kubernetes(self, request: httpx.Request) -> httpx.Response:
        verb, path = request.method, request.url.path
        if verb != "GET":
            self.changes.append((verb, path))
        if verb == "POST":
            pod = json.loads(request.content)
            pod["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
            self.pods[f"{path}/{pod['metadata']['name']}"] = pod | {"status": self.status}
            return httpx.Response(201, json=pod)
        if path.endswith("/log"):
            return httpx.Response(200, text=self.log)
        if path == PODS:
            return httpx.Response(200, json={"items": list(self.pods.values())})
        found = self.pods.pop(path, None) if verb == "DELETE" else self.pods.get(path)
        return httpx.Response(200, json=found) if found else httpx.Response(404, json={"reason": "NotFound"})

    def _registry(self, request: httpx.Request) -> httpx.Response:
        assert request.url.path == f"/v2/lab/manifests/{DIGEST}"
        return httpx.Response(200 if self.pushed else 404)


def ended(name: str, code: int, reason: str = "Error", message: str = "") -> Json:
    return {"name": name, "state": {"terminated": {"exitCode": code, "reason": reason, "message": message}}}


def status(phase: str, *containers: Json, **more: str) -> Json:
    inits = [one for one in containers if one["name"] == "fetch"]
    mains = [one for one in containers if one["name"] != "fetch"]
    return {"phase": phase, "initContainerStatuses": inits, "containerStatuses": mains, **more}


FETCHED = ended("fetch", 0, "Completed")
DONE = status("Succeeded", FETCHED, ended("build", 0, "Completed", json.dumps({"containerimage.digest": DIGEST})))
FAILED = status("Failed", FETCHED, ended("build", 1))


def test_what_was_pushed_is_the_image_and_nothing_is_left() -> None:
    cluster = Cluster(DONE)
    built = cluster.builder().build(REQUEST)
    assert (built.reference, built.kind, built.base) == (f"registry.example/lab@{DIGEST}", "image", LANE)
    assert cluster.pods == {}


def test_what_an_earlier_attempt_left_is_removed_first() -> None:
    cluster = Cluster(DONE)
    old = {
        "metadata": {"name": "build-push-1", "creationTimestamp": "2999-01-01T00:00:00Z"},
        "status": {"phase": "Running"},
    }
    cluster.pods[POD] = old
    cluster.builder().build(REQUEST)
    assert cluster.changes[0] == ("DELETE", POD)
    assert ("POST", PODS) in cluster.changes


def test_pods_of_runs_that_were_stopped_do_not_pile_up() -> None:
    cluster = Cluster(DONE)
    for name, phase, created in (
        ("old", "Failed", "2020-01-01T00:00:00Z"),
        ("working", "Running", "2020-01-01T00:00:00Z"),
        ("fresh", "Succeeded", "2999-01-01T00:00:00Z"),
    ):
        cluster.pods[f"{PODS}/{name}"] = {
            "metadata": {"name": name, "creationTimestamp": created},
            "status": {"phase": phase},
        }
    cluster.builder().build(REQUEST)
    assert [path.rsplit("/", 1)[-1] for path in cluster.pods] == ["working", "fresh"]


def test_a_commit_that_does_not_build_is_a_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    cluster = Cluster(FAILED, (RECORDED / "run_fails.log").read_text())
    with pytest.raises(BuildFailedError, match="exit code 1: ERROR: No matching distribution found") as caught:
        cluster.builder().build(REQUEST)
    assert caught.value.exit_code == 1
    assert caught.value.lines[-1] == "ERROR: No matching distribution found for nosuch==1.0"
    assert "  ERROR: No matching distribution found" in capsys.readouterr().out
    assert cluster.pods == {}


def recorded(name: str) -> str:
    return (RECORDED / f"{name}.log").read_text()


TROUBLES: dict[str, tuple[Json, str, str]] = {
    "registry down": (FAILED, recorded("registry_down"), "failed to push"),
    "no memory": (status("Failed", FETCHED, ended("build", 137, "OOMKilled")), recorded("run_fails"), "OOMKilled"),
    "no memory, shell survived": (
        status("Failed", FETCHED, ended("build", 1, "OOMKilled")),
        recorded("run_fails"),
        "OOMKilled",
    ),
    "daemon died": (
        status("Failed", FETCHED, ended("build", 3, message="buildkitd died: fatal")),
        recorded("run_fails"),
        "exit code 3 (Error): buildkitd died: fatal",
    ),
    "evicted": (
        status("Failed", FETCHED, ended("build", 1), reason="Evicted", message="low on ephemeral-storage"),
        recorded("run_fails"),
        "was lost: Evicted: low on ephemeral-storage",
    ),
    "forge down": (
        status("Failed", ended("fetch", 3, message="cannot fetch 000: could not resolve host")),
        "",
        "container fetch ended with exit code 3 (Error): cannot fetch 000",
    ),
    "no digest": (status("Succeeded", FETCHED, ended("build", 0, "Completed", "{}")), "", "left no digest"),
    "forged digest": (
        status("Succeeded", ended("build", 0, "Completed", '{"containerimage.digest": "sha256:1; rm"}')),
        "",
        "left no digest",
    ),
    "never scheduled": (
        {"phase": "Pending", "conditions": [{"reason": "Unschedulable", "message": "0/1 nodes: Insufficient memory"}]},
        "",
        "no node takes pod build-push-1: 0/1 nodes: Insufficient memory",
    ),
}


@pytest.mark.parametrize("name", TROUBLES)
def test_everything_else_is_the_platforms_trouble(name: str) -> None:
    became, log, told = TROUBLES[name]
    cluster = Cluster(became, log)
    with pytest.raises(PlatformError) as caught:
        cluster.builder().build(REQUEST)
    assert told in str(caught.value)
    assert cluster.pods == {}


def test_a_pod_that_was_deleted_meanwhile_is_the_platforms_trouble() -> None:
    cluster = Cluster({"phase": "Running"})
    builder = cluster.builder()
    pause: Callable[[float], object] = lambda _: cluster.pods.clear()  # noqa: E731
    object.__setattr__(builder, "pause", pause)
    with pytest.raises(PlatformError, match="was deleted while it was at work"):
        builder.build(REQUEST)


def test_an_image_that_the_registry_does_not_hold_is_none() -> None:
    with pytest.raises(PlatformError, match=f"pushed {DIGEST}, but registry.example/lab does not hold it"):
        Cluster(DONE, pushed=False).builder().build(REQUEST)


def test_a_lane_that_the_platform_does_not_build_is_named() -> None:
    request = BuildRequest(Path("unused"), "0" * 40, "lab", "legacy", "push-1")
    with pytest.raises(PlatformError, match="ConfigMap gpulab has no GPULAB_LANE_LEGACY"):
        Cluster(DONE).builder().build(request)
