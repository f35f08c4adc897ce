"""The objects of a project: as committed, allowed by what they promise, and silent about secrets."""

import dataclasses
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from gpulab.errors import InputError, PlatformError
from gpulab.pipelines.settings import Settings
from gpulab.rendering.release_rules.shape import KINDS
from gpulab.rendering.yaml_text import to_yaml_stream
from gpulab.tenants.connect import shown
from gpulab.tenants.network import extra, to
from gpulab.tenants.plan import CLIENTS, Secrets, objects
from gpulab.tenants.project import LONGEST_BOT, Tenant, tenant
from gpulab.tenants.settings import Platform, complete

GOLDEN = Path(__file__).parent / "resources" / "tenant.yaml"
Json = dict[str, Any]


@pytest.fixture
def planned(platform: Platform, project: Tenant, secrets: Secrets) -> list[Json]:
    return objects(platform, project, secrets)


def of_kind(planned: list[Json], kind: str) -> list[Json]:
    return [one for one in planned if one["kind"] == kind]


def test_the_plan_is_the_committed_one(planned: list[Json]) -> None:
    """To take a change over: GPULAB_WRITE_GOLDEN=1 pytest, then read the difference."""
    text = to_yaml_stream(planned)
    if os.environ.get("GPULAB_WRITE_GOLDEN"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_every_object_is_named_once_in_a_namespace_of_the_project(planned: list[Json], project: Tenant) -> None:
    namespaces = {one["metadata"]["name"] for one in of_kind(planned, "Namespace")}
    assert namespaces == {f"gpu-lab-1-{role}" for role in ("ci", "build", "teaching", "production")}
    assert {one["metadata"]["namespace"] for one in planned if one["kind"] != "Namespace"} == namespaces
    names = [(one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]) for one in planned]
    assert len(names) == len(set(names))
    assert names[:4] == [one for one in names if one[0] == "Namespace"]


def test_no_right_is_a_wildcard_or_cluster_wide(planned: list[Json]) -> None:
    assert {one["kind"] for one in planned}.isdisjoint({"ClusterRole", "ClusterRoleBinding"})
    rules = [rule for role in of_kind(planned, "Role") for rule in role["rules"]]
    assert rules
    for rule in rules:
        assert "*" not in [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]
        assert set(rule["resources"]).isdisjoint({"roles", "rolebindings", "serviceaccounts/token", "pods/exec"})
    assert [one["roleRef"] for one in of_kind(planned, "RoleBinding") if one["roleRef"]["kind"] == "ClusterRole"] == [
        {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "gpulab-argo-server-tenant"}
    ]


def test_only_students_read_a_secret_and_only_the_one_that_shows_reports(planned: list[Json]) -> None:
    roles = [(role["metadata"]["name"], rule) for role in of_kind(planned, "Role") for rule in role["rules"]]
    about = [(name, rule) for name, rule in roles if "secrets" in rule["resources"]]
    wanted = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["gpulab-artifacts"]}
    assert about == [("gpulab-student", wanted)]


def test_releases_get_the_kinds_of_a_release_and_no_secret_is_beside_them(planned: list[Json]) -> None:
    for role in ("teaching", "production"):
        namespace = f"gpu-lab-1-{role}"
        inside = [one for one in planned if one["metadata"].get("namespace") == namespace]
        assert {one["kind"] for one in inside}.isdisjoint({"Secret", "ConfigMap", "ServiceAccount"})
        rules = next(one for one in inside if one["kind"] == "Role")["rules"]
        written = {kind for rule in rules if "patch" in rule["verbs"] for kind in rule["resources"]}
        assert len(written) == len(KINDS)
        assert written.isdisjoint({"pods", "secrets", "events"})


def test_pipelines_find_the_accounts_and_secrets_that_they_name(planned: list[Json]) -> None:
    names = {(one["kind"], one["metadata"]["name"]) for one in planned if "ci" in one["metadata"].get("namespace", "")}
    settings = Settings()
    for wanted in (
        ("ServiceAccount", settings.service_account),
        ("ServiceAccount", settings.executor),
        ("Secret", f"{settings.executor}.service-account-token"),
        ("Secret", "gpulab-webhook.service-account-token"),
        ("ConfigMap", settings.config_map),
        ("ConfigMap", "artifact-repositories"),
        ("Secret", CLIENTS),
        ("CronWorkflow", "gpulab-reconcile"),
        ("LocalQueue", "default"),
    ):
        assert wanted in names


def test_pod_security(planned: list[Json]) -> None:
    prefix = "pod-security.kubernetes.io/enforce"
    found = {
        one["metadata"]["labels"]["gpulab/role"]: one["metadata"]["labels"] for one in of_kind(planned, "Namespace")
    }
    assert {role: labels[prefix] for role, labels in found.items()} == {
        "ci": "restricted",
        "build": "privileged",
        "teaching": "restricted",
        "production": "restricted",
    }


def test_quotas_count_accelerators_and_nothing_else(planned: list[Json]) -> None:
    hard = {one["metadata"]["namespace"]: one["spec"]["hard"] for one in of_kind(planned, "ResourceQuota")}
    assert hard["gpu-lab-1-ci"] == {"requests.nvidia.com/gpu": "1"}
    assert hard["gpu-lab-1-build"] == {"requests.nvidia.com/gpu": "0"}
    assert len(of_kind(planned, "LimitRange")) == 4


def test_each_namespace_denies_what_is_not_allowed(planned: list[Json]) -> None:
    denied = [
        one["metadata"]["namespace"]
        for one in of_kind(planned, "NetworkPolicy")
        if one["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    ]
    assert len(denied) == 4


def test_students_code_reaches_neither_forge_nor_registry(planned: list[Json]) -> None:
    for policy in of_kind(planned, "NetworkPolicy"):
        if policy["metadata"]["namespace"] == "gpu-lab-1-ci" and "3000" in str(policy["spec"]):
            expression = policy["spec"]["podSelector"]["matchExpressions"]
            assert expression == [{"key": "gpulab/runs", "operator": "NotIn", "values": ["students-code"]}]
            return
    raise AssertionError("no policy lets the platform's steps to the forge")


@pytest.mark.parametrize(
    ("url", "peer", "port"),
    [
        ("http://192.0.2.1:3000/api/v1", {"ipBlock": {"cidr": "192.0.2.1/32"}}, 3000),
        ("https://github.com", {"ipBlock": {"cidr": "0.0.0.0/0", "except": ["169.254.0.0/16"]}}, 443),
        ("registry.example.org/lab", {"ipBlock": {"cidr": "0.0.0.0/0", "except": ["169.254.0.0/16"]}}, 443),
        ("[2001:db8::1]:5000", {"ipBlock": {"cidr": "2001:db8::1/128"}}, 5000),
        (
            "http://gitea.forge.svc.cluster.local:3000",
            {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "forge"}}},
            None,
        ),
    ],
)
def test_where_a_setting_leads(url: str, peer: Json, port: int | None) -> None:
    rule = to(url)
    assert rule["to"] == [peer]
    assert (rule["ports"][0]["port"] if "ports" in rule else None) == port


def test_a_mirror_inside_the_network() -> None:
    assert extra("10.1.0.0/16:3128 10.2.0.1/32:80")[0]["to"] == [{"ipBlock": {"cidr": "10.1.0.0/16"}}]
    with pytest.raises(PlatformError, match="GPULAB_BUILD_EGRESS: found 'proxy:3128'"):
        extra("10.1.0.0/16:3128 proxy:3128")


def test_a_dry_run_shows_every_object_and_no_secret(platform: Platform, project: Tenant, secrets: Secrets) -> None:
    text = shown(platform, project)
    documents = list(yaml.safe_load_all(text))
    wanted = objects(platform, project, dataclasses.replace(secrets, reader=""))
    assert [(one["kind"], one["metadata"]) for one in documents] == [(one["kind"], one["metadata"]) for one in wanted]
    data = [value for one in of_kind(documents, "Secret") for value in one.get("data", {}).values()]
    assert data and set(data) == {"…"}
    assert "# forge: webhook http://argo-server.argo:2746/api/v1/events/gpu-lab-1-ci/gpulab" in text
    assert "# forge: branch deploy/production: nobody pushes; pull requests need gpulab/verify-promotion" in text
    assert "seen-" not in repr(secrets)


@pytest.mark.parametrize(
    ("slug", "repository", "gpus"),
    [("Lab", "a/b", 1), ("kube-system!", "a/b", 1), ("lab", "b", 1), ("lab", "a/b/c", 1), ("lab", "a/b", -1)],
)
def test_names_are_refused_in_words(slug: str, repository: str, gpus: int) -> None:
    with pytest.raises(InputError, match="allowed"):
        tenant(slug, repository, gpus)


def test_no_two_projects_share_a_bot() -> None:
    long = [tenant(f"a-course-with-a-very-long-name-and-lab-{number}", "a/b").bot for number in (1, 2)]
    assert long[0] != long[1]
    assert max(len(one) for one in long) == LONGEST_BOT


def test_a_platform_that_is_not_set_up_says_what_is_missing(platform: Platform) -> None:
    with pytest.raises(PlatformError, match=r"has no GPULAB_REGISTRY, GPULAB_WEBHOOK_URL\. Set it in the overlay"):
        complete(dict(platform.settings) | {"GPULAB_REGISTRY": "", "GPULAB_WEBHOOK_URL": ""})
    with pytest.raises(PlatformError, match="allowed: gitea, github"):
        complete(dict(platform.settings) | {"GPULAB_FORGE_KIND": "gitlab"})
