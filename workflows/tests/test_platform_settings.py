"""The ConfigMap `gpulab` of a project in a cluster: every key is checked, every mistake is named at once."""

from pathlib import Path

import pytest
from gpulab.errors import PlatformError
from gpulab.platform import from_environment
from gpulab.platform_settings import read_settings

DIGEST = f"sha256:{'a' * 64}"
VALID = {
    "GPULAB_PLATFORM": "kubernetes",
    "GPULAB_PROJECT": "lab",
    "GPULAB_NAMESPACE": "lab-ci",
    "GPULAB_BUILD_NAMESPACE": "lab-build",
    "GPULAB_IMAGE": "10.0.0.1:5000/lab",
    "GPULAB_FORGE_KIND": "gitea",
    "GPULAB_FORGE_API": "http://10.0.0.1:3000/api/v1",
    "GPULAB_FORGE_REPOSITORY": "course/lab",
    "GPULAB_FORGE_CLONE": "http://10.0.0.1:3000/course/lab.git",
    "GPULAB_BUILDKIT_IMAGE": f"10.0.0.1:5000/buildkit@{DIGEST}",
    "GPULAB_BUILDKIT_MODE": "privileged",
    "GPULAB_REGISTRY_INSECURE": "true",
    "GPULAB_LANE_CPU": f"10.0.0.1:5000/runtime-cpu@{DIGEST}",
    "GPULAB_LANE_CURRENT": f"10.0.0.1:5000/runtime-cpu@{DIGEST}",
    "GPULAB_ARGO_URL": "http://argo",
}


def test_a_whole_config_map() -> None:
    settings = read_settings(VALID)
    assert (settings.project, settings.namespace, settings.build.namespace) == ("lab", "lab-ci", "lab-build")
    assert (settings.build.mode, settings.build.insecure) == ("privileged", True)


def test_a_lane_may_be_another_ones_image_where_gpus_are_simulated() -> None:
    lanes = read_settings(VALID).build.lanes
    assert lanes == {"cpu": VALID["GPULAB_LANE_CPU"], "current": VALID["GPULAB_LANE_CPU"]}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("GPULAB_IMAGE", "10.0.0.1:5000/lab:latest@sha256"),
        ("GPULAB_IMAGE", ""),
        ("GPULAB_IMAGE", "$(TOKEN)"),
        ("GPULAB_BUILDKIT_IMAGE", "moby/buildkit:rootless"),
        ("GPULAB_BUILDKIT_MODE", "root"),
        ("GPULAB_REGISTRY_INSECURE", "yes"),
        ("GPULAB_LANE_CURRENT", "runtime-cpu:1"),
        ("GPULAB_FORGE_CLONE", "http://user:password@10.0.0.1/lab.git"),
        ("GPULAB_FORGE_CLONE", "--upload-pack=x"),
        ("GPULAB_BUILD_NAMESPACE", "../kube-system"),
        ("GPULAB_PROJECT", "Lab"),
    ],
)
def test_a_wrong_value_is_named_with_its_key(key: str, value: str) -> None:
    with pytest.raises(PlatformError, match=rf"ConfigMap gpulab: {key} is .*it has to be"):
        read_settings(VALID | {key: value})


def test_all_that_is_missing_is_told_at_once() -> None:
    with pytest.raises(PlatformError) as caught:
        read_settings({})
    assert [str(caught.value).count(key) for key in ("GPULAB_PROJECT", "GPULAB_IMAGE", "GPULAB_BUILDKIT_MODE")] == [
        1,
        1,
        1,
    ]


def test_an_unknown_platform_is_named() -> None:
    with pytest.raises(PlatformError, match="GPULAB_PLATFORM is 'nomad'; known: local, kubernetes"):
        from_environment({"GPULAB_PLATFORM": "nomad"})


def test_a_missing_token_names_its_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n"
        "clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]\nusers: [{name: a, user: {token: t}}]\n"
    )
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setattr("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(kubeconfig))
    with pytest.raises(PlatformError, match="Secret lab-ci/gpulab-forge has no key token"):
        from_environment(VALID, tmp_path)
