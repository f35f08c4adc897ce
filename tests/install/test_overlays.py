"""What `kubectl apply -k gitops/overlays/…` would install."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from gpulab.pipelines.catalogue import PIPELINES
from gpulab.pipelines.settings import Settings
from gpulab.rendering.documents import read_documents
from gpulab.rendering.kustomize import build
from gpulab.rendering.workflows import pipeline_document

from .conftest import GITOPS, Document

PINNED = re.compile(r"^[\w./:-]+(:v?\d[\w.-]*|@sha256:[0-9a-f]{64})$")
CLUSTER_WIDE = {
    "ClusterQueue", "ClusterRole", "ClusterRoleBinding", "ClusterWorkflowTemplate", "Namespace", "PriorityClass",
    "ResourceFlavor", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
}  # fmt: skip


def named(documents: list[Document], kind: str, name: str) -> Document:
    return next(one for one in documents if one["kind"] == kind and one["metadata"]["name"] == name)


def of_kind(documents: list[Document], kind: str) -> list[Document]:
    return [one for one in documents if one["kind"] == kind]


def images(value: Any) -> Iterator[str]:
    """Every image of a document: of containers, of the executor's variable, of the platform's settings."""
    if isinstance(value, dict):
        for key, one in value.items():
            if isinstance(one, str) and one and (key == "image" or re.match(r"GPULAB_(BUILDKIT_IMAGE|LANE_)", key)):
                yield one
        if value.get("name") == "EXECUTOR_IMAGE":
            yield value["value"]
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from images(one)


def test_the_same_bytes_twice(overlay: str) -> None:
    folder = GITOPS / "overlays" / overlay
    assert build(folder, overlay) == build(folder, overlay)


def test_every_image_is_pinned(documents: list[Document]) -> None:
    found = [image for one in documents for image in images(one) if "{{" not in image]
    assert len(found) > 10
    assert [image for image in found if not PINNED.match(image)] == []


def test_cluster_wide_objects_have_no_namespace_and_all_others_have_one(documents: list[Document]) -> None:
    for one in documents:
        assert ("namespace" in one["metadata"]) == (one["kind"] not in CLUSTER_WIDE), one["metadata"]["name"]


def test_every_deployment_is_restricted_limited_and_probed(documents: list[Document]) -> None:
    deployments = of_kind(documents, "Deployment")
    assert len(deployments) == 2
    for one in deployments:
        pod = one["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] > 0
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in pod["containers"]:
            security = container["securityContext"]
            assert security["allowPrivilegeEscalation"] is False
            assert security["capabilities"] == {"drop": ["ALL"]}
            assert security["readOnlyRootFilesystem"] is True
            assert container["resources"]["limits"].keys() == {"cpu", "memory"}
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                assert container[probe]["httpGet"]["port"] in {port["name"] for port in container["ports"]}


def test_every_volume_claim_config_and_account_that_is_named_exists(documents: list[Document]) -> None:
    accounts = {(one["metadata"]["namespace"], one["metadata"]["name"]) for one in of_kind(documents, "ServiceAccount")}
    for one in of_kind(documents, "Deployment"):
        account = one["spec"]["template"]["spec"]["serviceAccountName"]
        assert (one["metadata"]["namespace"], account) in accounts
    for kind in ("ClusterRoleBinding", "RoleBinding"):
        for one in of_kind(documents, kind):
            assert named(documents, one["roleRef"]["kind"], one["roleRef"]["name"])
            for subject in one["subjects"]:
                assert subject["kind"] == "Group" or (subject["namespace"], subject["name"]) in accounts


def test_the_pipelines_are_there_once_and_unchanged(documents: list[Document]) -> None:
    found = of_kind(documents, "ClusterWorkflowTemplate")
    wanted = [pipeline_document(name, Settings()) for name in PIPELINES]
    assert sorted(found, key=str) == sorted(wanted, key=str)


def test_the_settings_are_not_spelled_twice(documents: list[Document]) -> None:
    """Names that the pipelines rely on are those of `pipelines/settings.py`."""
    for one in of_kind(documents, "ClusterWorkflowTemplate"):
        assert one["spec"]["serviceAccountName"] == Settings().service_account
    settings = named(documents, "ConfigMap", f"{Settings().config_map}-platform")["data"]
    assert settings["GPULAB_BUILDKIT_IMAGE"] == f"gpulab.local/buildkit:{Settings().version}"


def test_templates_cannot_be_overridden(documents: list[Document]) -> None:
    config = named(documents, "ConfigMap", "workflow-controller-configmap")["data"]
    assert read_documents(config["workflowRestrictions"]) == [{"templateReferencing": "Secure"}]
    assert "instanceID" not in config
    links = re.findall(r"url: (\S+)", config["links"])
    server = named(documents, "Deployment", "argo-server")["spec"]["template"]["spec"]["containers"][0]
    allowed = [arg.partition("=")[2] for arg in server["args"] if arg.startswith("--allowed-link-protocol")]
    assert {one.partition(":")[0] if ":" in one else "" for one in links} <= set(allowed), "the server would not start"
    controller = named(documents, "Deployment", "workflow-controller")["spec"]["template"]["spec"]["containers"][0]
    assert {"name": "DEFAULT_REQUEUE_TIME", "value": "2s"} in controller["env"]


@pytest.mark.parametrize(("name", "modes"), [("local", ["client"]), ("teaching", ["client", "sso"])])
def test_how_people_log_in(name: str, modes: list[str]) -> None:
    documents = read_documents(build(GITOPS / "overlays" / name, name))
    server = named(documents, "Deployment", "argo-server")["spec"]["template"]["spec"]["containers"][0]
    assert [arg.removeprefix("--auth-mode=") for arg in server["args"] if "--auth-mode" in arg] == modes
    assert ("sso" in named(documents, "ConfigMap", "workflow-controller-configmap")["data"]) == ("sso" in modes)


DIGEST = f"sha256:{'a' * 64}"
OWN = f"""images:
  - name: gpulab.local/steps
    newName: registry.example.edu:5000/gpulab/steps
    digest: {DIGEST}
  - name: quay.io/argoproj/argoexec
    newName: registry.example.edu:5000/argoexec
    digest: {DIGEST}
  - name: gpulab.local/buildkit
    newName: registry.example.edu:5000/buildkit
    digest: {DIGEST}
configMapGenerator:
  - name: gpulab-platform
    namespace: gpulab
    behavior: merge
    envs: [platform.env]
    options: {{disableNameSuffixHash: true}}
"""


def test_an_own_overlay_reaches_every_image_and_setting(
    overlay: str, own_overlay: Callable[..., list[Document]]
) -> None:
    documents = own_overlay(overlay, OWN, platform_env="GPULAB_REGISTRY=registry.example.edu:5000\n")
    found = [image for one in documents for image in images(one)]
    for name in ("gpulab/steps", "argoexec", "buildkit"):
        assert f"registry.example.edu:5000/{name}@{DIGEST}" in found
    assert not [image for image in found if re.search(r"gpulab\.local|argoproj/argoexec", image)]
    settings = named(documents, "ConfigMap", "gpulab-platform")["data"]
    assert settings["GPULAB_REGISTRY"] == "registry.example.edu:5000"
    assert settings["GPULAB_S3_BUCKET"] == "gpulab"
