"""`gpulab doctor` on installations as data: a right one passes, and what is wrong is named with its fix."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import httpx
import pytest
from gpulab.doctor import Check, examine
from gpulab.doctor.access import FORBIDDEN, NEEDED, questions
from gpulab.doctor.asking import values_of
from gpulab.doctor.collect import LABELLED, WHOLE, collect
from gpulab.doctor.reach import Request, Values, judge, of_platform, of_tenant, signature
from gpulab.doctor.versions import new_enough, parsed, tag
from gpulab.kubernetes import Api
from gpulab.pipelines.settings import Settings

from .conftest import Document
from .healthy import PROJECT, SERVERS, installed, snapshot

Change = Callable[[list[Document]], object]


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    return installed()


def failures(documents: list[Document], **arguments: bool) -> list[Check]:
    return [one for one in examine(snapshot(documents), **arguments) if one.level == "FAIL"]


def named(documents: list[Document], kind: str, name: str) -> Document:
    return next(one for one in documents if one["kind"] == kind and one["metadata"]["name"] == name)


def without(kind: str, name: str) -> Change:
    return lambda documents: documents.remove(named(documents, kind, name))


def at(kind: str, name: str, *path: str | int, value: object) -> Change:
    """Set a field of one object."""

    def change(documents: list[Document]) -> None:
        target = named(documents, kind, name)
        for key in path[:-1]:
            target = target[key]  # type: ignore[index]
        target[path[-1]] = value  # type: ignore[index]

    return change


def test_a_right_installation_passes(documents: list[Document]) -> None:
    checks = list(examine(snapshot(documents)))
    assert [one for one in checks if one.level != "PASS"] == []
    assert len(checks) > 10


ENFORCE = "pod-security.kubernetes.io/enforce"
TEMPLATE = Settings().template_name("push")
WRONG: list[tuple[str, Change, str]] = [
    ("definition missing", without("CustomResourceDefinition", "workflows.argoproj.io"), "workflows.argoproj.io"),
    (
        "minimal definition",
        at("CustomResourceDefinition", "workflows.argoproj.io", "spec", "versions", 0, "schema", "openAPIV3Schema",
           value={"properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}),
        "minimal: workflows.argoproj.io",
    ),
    ("no controller", without("Deployment", "workflow-controller"), "argo/workflow-controller: missing"),
    ("server not ready", at("Deployment", "argo-server", "status", value={}), "argo/argo-server: 0 of 1 ready"),
    (
        "old server",
        at("Deployment", "argo-server", "spec", "template", "spec", "containers", 0, "image", value="x/argocli:v4.0.5"),
        "v4.0.5, allowed: 4.0.10",
    ),
    (
        "templates can be overridden",
        at("ConfigMap", "workflow-controller-configmap", "data", "workflowRestrictions", value=""),
        "not set, allowed: Secure",
    ),
    (
        "setting missing",
        at("ConfigMap", "gpulab-platform", "data", "GPULAB_REGISTRY", value=""),
        "missing: GPULAB_REGISTRY",
    ),
    (
        "builds by tag",
        at("ConfigMap", "gpulab-platform", "data", "GPULAB_BUILDKIT_IMAGE", value="host/buildkit:v1"),
        "GPULAB_BUILDKIT_IMAGE is host/buildkit:v1",
    ),
    ("pipeline missing", without("ClusterWorkflowTemplate", TEMPLATE), f"{TEMPLATE}: missing"),
    (
        "pipeline edited",
        at("ClusterWorkflowTemplate", TEMPLATE, "spec", "serviceAccountName", value="admin"),
        "spec.serviceAccountName is not what gpulab",
    ),
    (
        "field added to a pipeline",
        at("ClusterWorkflowTemplate", TEMPLATE, "spec", "hostNetwork", value=True),
        "spec.hostNetwork is not what gpulab",
    ),
    ("namespace missing", without("Namespace", f"{PROJECT}-build"), f"Namespace {PROJECT}-build: missing"),
    (
        "Pod Security taken off",
        at("Namespace", f"{PROJECT}-ci", "metadata", "labels", ENFORCE, value="privileged"),
        f"{ENFORCE} is not as gpulab",
    ),
    ("Secret missing", without("Secret", "argo-workflows-webhook-clients"), "argo-workflows-webhook-clients: missing"),
    ("key of a Secret missing", at("Secret", "gpulab-artifacts", "data", value={"accesskey": ""}), "key secretkey"),
    (
        "an older binding",
        at("WorkflowEventBinding", "gpulab-push", "spec", "submit", "workflowTemplateRef", "name", value="push-v0-0-9"),
        "spec.submit.workflowTemplateRef.name is not as gpulab",
    ),
    ("no reconciler", without("CronWorkflow", "gpulab-reconcile"), f"{PROJECT}-ci/gpulab-reconcile: missing"),
    ("a role was widened", at("Role", "gpulab-student", "rules", value=[]), "rules is not as gpulab"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "said"), [one[1:] for one in WRONG], ids=[one[0] for one in WRONG])
def test_what_is_wrong_is_named_with_what_to_do(documents: list[Document], change: Change, said: str) -> None:
    changed: list[Document] = json.loads(json.dumps(documents))
    change(changed)
    found = [one for one in failures(changed) if said in str(one)]
    assert found, failures(changed)
    assert all(one.fix for one in found)


def test_no_secret_is_shown(documents: list[Document]) -> None:
    changed: list[Document] = json.loads(json.dumps(documents))
    for one in changed:
        if one["kind"] == "Secret" and one["metadata"].get("namespace", "").startswith(PROJECT):
            one["data"].popitem()
    told = [str(one) for one in examine(snapshot(changed))]
    assert sum("Secret" in one for one in told) > 5
    values = [value for one in documents if one["kind"] == "Secret" for value in one.get("data", {}).values()]
    assert not [value for value in values if value and value in "\n".join(told)]


@pytest.mark.parametrize(("name", "expected"), [("teaching", "WARN"), ("production", "FAIL")])
def test_tags_and_placeholders_of_other_overlays_are_found(name: str, expected: str) -> None:
    checks = list(examine(snapshot(installed(name))))
    level = {one.name: one.level for one in checks}
    assert level[f"images by digest ({name})"] == expected
    assert level["login (SSO)"] == "FAIL"


def test_rights_that_are_wrong_are_told_one_by_one(documents: list[Document]) -> None:
    seen = snapshot(documents)
    turned = replace(seen, allowed={one: not right for one, right in seen.allowed.items()})
    told = [str(one) for one in examine(turned) if "rights" in one.name]
    assert len(told) == len(NEEDED) + len(FORBIDDEN) + 1
    assert f"FAIL tenant {PROJECT}: rights: argo/argo-server: get secrets in {PROJECT}-ci is refused" in told[0]
    assert any("gpulab-student: create workflows" in one and "is allowed" in one for one in told)


@pytest.mark.parametrize(
    ("version", "good"),
    [("v4.0.10", True), ("v4.0.9", False), ("v4.1.1", False), ("v4.1.2", True), ("v4.2.0", True), ("v3.7.18", False)],
)
def test_the_floor_of_argo(version: str, good: bool) -> None:
    assert new_enough(parsed(version)) is good


def test_a_digest_alone_tells_no_version() -> None:
    assert tag("host:5000/argocli@sha256:1") == ""
    assert tag("host:5000/a/argocli:v4.0.10-nonroot@sha256:1") == "v4.0.10-nonroot"


def test_old_versions_are_a_warning_where_that_is_asked_for(documents: list[Document]) -> None:
    checks = [*examine(snapshot(documents, "v1.30.0"), allow_old=True)]
    assert [one.level for one in checks if one.name == "version of Kubernetes"] == ["WARN"]
    checks = [*examine(snapshot(documents, "v1.30.0"))]
    assert [one.level for one in checks if one.name == "version of Kubernetes"] == ["FAIL"]


ENDPOINTS = {
    "endpoints": [{"addresses": [one.ip]} for one in SERVERS],
    "ports": [{"port": one.port} for one in SERVERS],
}


def with_kueue(fair: str) -> list[Document]:
    documents = installed("teaching")
    manager = json.loads(json.dumps(named(documents, "Deployment", "argo-server")))
    manager["metadata"] |= {"name": "kueue-controller-manager", "namespace": "kueue-system"}
    manager["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.k8s.io/kueue/kueue:v0.19.2"
    configuration = named(documents, "ConfigMap", "kueue-manager-config")["data"]
    text = configuration["controller_manager_config.yaml"]
    configuration["controller_manager_config.yaml"] = text.replace("admissionFairSharing:", fair)
    return [*documents, manager]


@pytest.mark.parametrize(("line", "level"), [("admissionFairSharing:", "PASS"), ("#admissionFairSharing:", "FAIL")])
def test_fair_shares_are_configured_in_kueue_itself(line: str, level: str) -> None:
    checks = list(examine(snapshot(with_kueue(line))))
    assert [one.level for one in checks if one.name == "fair shares of GPUs"] == [level]
    assert [one.level for one in checks if one.name == "version of Kueue"] == ["PASS"]


def api_of(documents: list[Document], refused: str = "") -> Api:
    """An API server that has these objects, and refuses one path."""
    kinds = dict((*WHOLE, *LABELLED))

    def answer(request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if refused and path.endswith(refused):
            return httpx.Response(403, json={"reason": "Forbidden", "message": "no"})
        if path == "/version":
            return httpx.Response(200, json={"gitVersion": "v1.34.4"})
        if path.endswith("subjectaccessreviews"):
            return httpx.Response(201, json={"status": {"allowed": json.loads(request.content)["spec"]["user"] != ""}})
        if path in ("/api/v1/namespaces/default/services/kubernetes", "/apis/kueue.x-k8s.io/v1beta2"):
            return httpx.Response(404, json={})
        if path.endswith("/endpointslices"):
            return httpx.Response(200, json={"items": [ENDPOINTS]})
        if path not in kinds:
            name = path.rsplit("/", 1)[-1]
            return httpx.Response(200, json=next(one for one in documents if one["metadata"]["name"] == name))
        items = [{k: v for k, v in one.items() if k != "kind"} for one in documents if one["kind"] == kinds[path]]
        namespace = path.split("/namespaces/")[1].split("/")[0] if "/namespaces/" in path else ""
        return httpx.Response(
            200,
            json={"items": [one for one in items if not namespace or one["metadata"].get("namespace") == namespace]},
        )

    return Api(httpx.Client(base_url="https://api.invalid", transport=httpx.MockTransport(answer)), lambda _: None)


def test_what_is_collected_has_no_value_of_a_secret(documents: list[Document]) -> None:
    seen = collect(api_of(documents))
    secrets = seen.all("Secret")
    assert len(secrets) > 5
    assert {value for one in secrets for value in one["data"].values()} == {""}
    assert seen.projects() == [PROJECT]
    assert seen.allowed.keys() == dict(questions([PROJECT])).keys()


def test_the_collected_installation_is_judged_as_the_data_are(documents: list[Document]) -> None:
    levels = [one.level for one in examine(collect(api_of(documents))) if "rights" not in one.name]
    assert set(levels) == {"PASS"}


def test_what_may_not_be_read_is_a_warning_and_the_rest_is_checked(documents: list[Document]) -> None:
    checks = list(examine(collect(api_of(documents, refused="customresourcedefinitions"))))
    assert [one.found for one in checks if one.name.startswith("read ")] == ["403 no"]
    assert any(one.level == "PASS" for one in checks)


def test_another_tenant_is_left_out_when_one_is_named(documents: list[Document]) -> None:
    assert collect(api_of(documents), ["somebody-else"]).projects() == []


def requests() -> Iterator[Request]:
    config = {"GPULAB_FORGE_API": "http://f/api/v1", "GPULAB_FORGE_REPOSITORY": "class/x"}
    yield from of_platform(
        {"GPULAB_REGISTRY": "r:5000/lab", "GPULAB_REGISTRY_INSECURE": "true", "GPULAB_S3_ENDPOINT": "s"}
    )
    yield from of_tenant(
        "x", config, "http://a/api/v1/events/x-ci/gpulab", Values("hush-webhook", "hush-token", "hush-account")
    )


def test_what_is_asked() -> None:
    asked = {one.name: one for one in requests()}
    assert asked["registry"].url == "http://r:5000/v2/"
    assert asked["artifact store"].url == "https://s/"
    assert asked["tenant x: forge token"].url == "http://f/api/v1/repos/class/x"
    signed = asked["tenant x: webhook, a signed event"]
    assert signed.headers["X-Hub-Signature-256"] == signature("hush-webhook", signed.body)
    assert signed.good == {200}
    assert [one.good for name, one in asked.items() if "webhook" in name] == [{200}, {401}, {401}]
    assert "hush" not in str(asked)


def test_what_answers_mean() -> None:
    signed = next(one for one in requests() if "a signed event" in one.name)
    store = next(one for one in requests() if one.name == "artifact store")
    assert judge(signed, 200).level == "PASS"
    assert "answers 403, should be 200" in str(judge(signed, 403))
    assert judge(signed, "ConnectError").level == "FAIL"
    assert judge(store, "ConnectError").level == "WARN"
    assert judge(store, 403).level == "PASS"
    assert judge(store, 502).level == "FAIL"


def test_the_secrets_of_a_tenant_are_read_for_the_test_event(documents: list[Document]) -> None:
    values = values_of(api_of(documents), f"{PROJECT}-ci")
    assert (values.webhook, values.token) == ("hush-webhook", "hush-bot")
    assert "hush" not in repr(values)
