"""The pod of a build: what it may see, and what it is told."""

import json
from pathlib import Path
from typing import Any

import pytest
from gpulab.images.buildkit.command import arguments, daemon_settings
from gpulab.images.buildkit.pod import build_pod, pod_name
from gpulab.images.buildkit.settings import BuildSettings, Mode
from gpulab.images.protocol import BuildRequest

REVISION, RUN = "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567", "push-0a1b2c3d4e5f-abcdef"
LANE = f"registry.example/runtime-cpu@sha256:{'1' * 64}"
REQUEST = BuildRequest(Path("unused"), REVISION, "gpulab.local/lab", "cpu", RUN)


def settings(mode: Mode = "rootless", insecure: bool = False) -> BuildSettings:
    return BuildSettings(
        namespace="lab-build",
        image=f"registry.example/buildkit@sha256:{'2' * 64}",
        mode=mode,
        clone="https://forge.example/course/lab.git",
        repository="registry.example:5000/lab",
        lanes={"cpu": LANE},
        insecure=insecure,
    )


def containers(pod: dict[str, Any]) -> dict[str, Any]:
    return {one["name"]: one for one in (*pod["spec"]["initContainers"], *pod["spec"]["containers"])}


def test_only_the_container_that_runs_nothing_of_the_project_sees_the_forges_token() -> None:
    found = containers(build_pod(settings(), REQUEST, LANE))
    seen = {name: {mount["name"] for mount in one["volumeMounts"]} for name, one in found.items()}
    assert seen == {"fetch": {"source", "forge"}, "build": {"source", "state", "registry"}}
    assert found["fetch"]["securityContext"]["allowPrivilegeEscalation"] is False


def test_no_container_has_a_key_to_the_kubernetes_api() -> None:
    assert build_pod(settings(), REQUEST, LANE)["spec"]["automountServiceAccountToken"] is False


@pytest.mark.parametrize("mode", ["rootless", "privileged"])
def test_the_mode_decides_how_it_is_confined(mode: Mode) -> None:
    context = containers(build_pod(settings(mode), REQUEST, LANE))["build"]["securityContext"]
    assert context.get("privileged", False) is (mode == "privileged")
    assert context["runAsUser"] == (0 if mode == "privileged" else 1000)


def test_every_container_has_requests_and_limits() -> None:
    for one in containers(build_pod(settings(), REQUEST, LANE)).values():
        assert one["resources"]["requests"].keys() == one["resources"]["limits"].keys() >= {"cpu", "memory"}


def test_it_builds_the_commit_on_the_lane_by_digest() -> None:
    found = containers(build_pod(settings(), REQUEST, LANE))
    assert found["fetch"]["args"][:2] == ["https://forge.example/course/lab.git", REVISION]
    assert f"--opt=build-arg:LANE={LANE}" in found["build"]["args"]
    (output,) = [one for one in found["build"]["args"] if one.startswith("--output=")]
    assert f"name=registry.example:5000/lab:{REVISION},push=true" in output
    assert "rewrite-timestamp=true" in output


def test_nothing_in_it_would_be_expanded_by_the_kubelet() -> None:
    assert "$" not in json.dumps(build_pod(settings(), REQUEST, LANE))


def test_plain_http_is_spoken_only_when_it_is_set() -> None:
    assert daemon_settings(settings()) == ""
    assert daemon_settings(settings(insecure=True)) == '[registry."registry.example:5000"]\nhttp = true\n'
    assert "insecure" not in " ".join(arguments(settings(), LANE, REVISION))
    insecure = [one for one in arguments(settings(insecure=True), LANE, REVISION) if "registry.insecure=true" in one]
    assert [one.split("=")[0] for one in insecure] == ["--output", "--import-cache", "--export-cache"]


def test_the_same_build_is_the_same_pod() -> None:
    assert build_pod(settings(), REQUEST, LANE) == build_pod(settings(), REQUEST, LANE)


@pytest.mark.parametrize(
    ("run", "name"),
    [(RUN, f"build-{RUN}"), ("r" * 80, f"build-{'r' * 57}"), (f"{'r' * 56}.x", f"build-{'r' * 56}")],
)
def test_its_name_is_one_that_kubernetes_takes(run: str, name: str) -> None:
    assert pod_name(run) == name
