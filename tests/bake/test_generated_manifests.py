"""The overlays of the baked project: they build, may be released, and differ where they should."""

import pytest
import yaml
from gpulab.rendering.overlays import render_overlay
from gpulab.rendering.released import released_problems

from .conftest import MATRIX, PROFILES, run_in

DIGEST = "sha256:" + "0" * 64
IMAGE = "gpulab.local/gpu-lab-1"


def manifests(project, environment: str) -> list[dict]:
    return list(yaml.safe_load_all(render_overlay(project, environment, f"gpulab.local/{project.name}", DIGEST)))


def deployment_of(project, environment: str) -> dict:
    return next(one for one in manifests(project, environment) if one["kind"] == "Deployment")["spec"]


def container_of(deployment: dict) -> dict:
    return deployment["template"]["spec"]["containers"][0]


SERVED = ["Deployment", "NetworkPolicy", "Service", "ServiceAccount"]


@pytest.mark.parametrize(("profile", "model", "accelerator"), MATRIX)
@pytest.mark.parametrize("environment", ["teaching", "production"])
def test_an_overlay_builds_and_may_be_released(baked, profile, model, accelerator, environment):
    documents = manifests(baked(profile, model, accelerator), environment)
    namespace = f"gpu-lab-1-{environment}"
    assert released_problems(documents, image=f"{IMAGE}@{DIGEST}", namespace=namespace) == []
    kept = ["PodDisruptionBudget"] if profile == "production" else []
    scaled = ["HorizontalPodAutoscaler"] if kept and environment == "production" and accelerator == "cpu" else []
    assert sorted(one["kind"] for one in documents) == sorted([*SERVED, *kept, *scaled])


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("environment", ["teaching", "production"])
def test_kustomize_has_nothing_to_warn_of(baked, environment, profile):
    done = run_in(baked(profile, "llama", "cpu"), "kubectl", "kustomize", f"gitops/overlays/{environment}")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("environment", ["teaching", "production"])
def test_the_container_starts_the_service_and_meets_pod_security_restricted(project, environment):
    deployment = deployment_of(project, environment)
    pod, container = deployment["template"]["spec"], container_of(deployment)
    assert container["command"] == ["python", "-m", "gpu_lab_1.serve"]
    assert {"name": "PORT", "value": "8000"} in container["env"]
    assert container["image"] == f"{IMAGE}@{DIGEST}"
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert {"startupProbe", "readinessProbe", "livenessProbe"} <= set(container)
    for side in ("requests", "limits"):
        assert set(container["resources"][side]) == {"cpu", "memory", "ephemeral-storage"}


def test_production_has_more_of_what_teaching_has_and_nothing_else(project):
    teaching, production = deployment_of(project, "teaching"), deployment_of(project, "production")
    assert (teaching["replicas"], production["replicas"]) == (1, 2)
    small, large = container_of(teaching), container_of(production)
    assert small["resources"] != large["resources"]
    assert {**small, "resources": 0} == {**large, "resources": 0}


def of_kind(project, environment: str, kind: str) -> dict:
    return next(one for one in manifests(project, environment) if one["kind"] == kind)


@pytest.mark.parametrize("accelerator", ["cpu", "h100"])
@pytest.mark.parametrize("environment", ["teaching", "production"])
def test_production_profile_survives_the_loss_of_a_pod_or_a_node(baked, environment, accelerator):
    project = baked("production", "llama", accelerator)
    deployment, labels = deployment_of(project, environment), {"app.kubernetes.io/name": "gpu-lab-1"}
    scaled = environment == "production" and accelerator == "cpu"
    if scaled:  # a number of replicas would set the autoscaler back with every release
        scaler = of_kind(project, environment, "HorizontalPodAutoscaler")["spec"]
        assert "replicas" not in deployment
        assert scaler["minReplicas"] >= 2
        assert scaler["metrics"][0]["resource"]["name"] in container_of(deployment)["resources"]["requests"]
    else:
        assert deployment["replicas"] >= 2
    budget = of_kind(project, environment, "PodDisruptionBudget")["spec"]
    assert (budget["maxUnavailable"], budget["selector"]["matchLabels"]) == (1, labels)
    spread = deployment["template"]["spec"]["topologySpreadConstraints"]
    assert {one["topologyKey"] for one in spread} == {"kubernetes.io/hostname", "topology.kubernetes.io/zone"}
    assert all(one["labelSelector"]["matchLabels"] == labels for one in spread)


@pytest.mark.parametrize("environment", ["teaching", "production"])
def test_production_profile_serves_on_the_gpu_that_proved_the_model(baked, environment):
    deployment = deployment_of(baked("production", "llama", "h100"), environment)
    container, pod = container_of(deployment), deployment["template"]["spec"]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "1"
    assert "nvidia.com/gpu" not in container["resources"]["requests"]
    assert {"name": "DEVICE", "value": "cuda"} in container["env"]
    assert pod["nodeSelector"] == {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
    student = deployment_of(baked("student", "llama", "h100"), environment)
    assert "nvidia.com/gpu" not in container_of(student)["resources"]["limits"]  # idle students hold no GPU


@pytest.mark.parametrize("name", ["Yes or No", "E5", "Null Lab", "x" * 120])
def test_a_name_stays_text_in_every_manifest(bake, name):
    project = bake(project_name=name, profile="production")
    for document in manifests(project, "production"):
        assert document["metadata"]["name"] == project.name
        assert document["metadata"]["labels"]["app.kubernetes.io/name"] == project.name
        assert document["metadata"]["namespace"] == f"{project.name}-production"
