"""Everything that a tenant has in the cluster, as a list in the order in which it is applied. Pure."""

import json
from dataclasses import dataclass, field

from gpulab.pipelines.settings import Settings
from gpulab.rendering.workflows import binding_documents, schedule_document
from gpulab.rendering.yaml_text import to_yaml
from gpulab.tenants.namespaces import limits, namespaces, queue
from gpulab.tenants.network import policies
from gpulab.tenants.objects import PART_OF, Json, config_map, secret
from gpulab.tenants.project import Tenant
from gpulab.tenants.rbac import WEBHOOK, rights
from gpulab.tenants.settings import Platform, environment

CLIENTS = "argo-workflows-webhook-clients"
"""Where Argo's server looks for the secrets of signed events; one key per ServiceAccount."""


@dataclass(frozen=True)
class Secrets:
    """What must not be seen.

    Attributes:
        webhook: signs events; never empty, since Argo's server checks no signature against an empty one.
        bot: the forge's token that writes statuses and deploy branches.
        clone: the forge's token that builds fetch the code with.
        artifacts: `accesskey` and `secretkey` of the artifact store.
        registry: a Docker configuration in JSON that may push; "" for a registry without login.
        reader: one that may pull; with it a promotion's check asks whether the image is still there.
    """

    webhook: str = field(repr=False)
    bot: str = field(repr=False)
    clone: str = field(repr=False)
    artifacts: tuple[str, str] = field(repr=False)
    registry: str = field(repr=False)
    reader: str = field(default="", repr=False)


def objects(platform: Platform, tenant: Tenant, secrets: Secrets) -> list[Json]:
    """The tenant's objects: namespaces, what keeps their pods small and apart, rights, settings, secrets, events."""
    ci = tenant.namespace("ci")
    return [
        *namespaces(platform, tenant),
        *limits(tenant),
        *policies(platform, tenant),
        *rights(tenant),
        config_map(ci, "gpulab", environment(platform, tenant)),
        artifact_repository(platform, tenant),
        *secret_objects(tenant, secrets),
        *([queue(tenant)] if platform.queues else []),
        *events(platform, tenant),
    ]


def secret_objects(tenant: Tenant, secrets: Secrets) -> list[Json]:
    """The tenant's Secrets; none where releases run."""
    ci, build = tenant.namespace("ci"), tenant.namespace("build")
    access, key = secrets.artifacts
    return [
        secret(ci, "gpulab-forge", {"token": secrets.bot}),
        secret(ci, "gpulab-artifacts", {"accesskey": access, "secretkey": key}),
        secret(ci, CLIENTS, {WEBHOOK: to_yaml({"type": "github", "secret": secrets.webhook})}),
        secret(build, "gpulab-forge", {"token": secrets.clone}),
        docker_login(build, secrets.registry or '{"auths":{}}'),
        *([docker_login(ci, secrets.reader)] if secrets.reader else []),
    ]


def docker_login(namespace: str, configuration: str) -> Json:
    """The Secret `gpulab-registry`."""
    return secret(namespace, "gpulab-registry", {".dockerconfigjson": configuration}, "kubernetes.io/dockerconfigjson")


def artifact_repository(platform: Platform, tenant: Tenant) -> Json:
    """Where the tenant's runs keep their files; its first key is the project, as in the pipelines' own keys."""
    s3: Json = {
        "endpoint": platform["S3_ENDPOINT"],
        "bucket": platform["S3_BUCKET"],
        "region": platform.get("S3_REGION", "us-east-1"),
        "insecure": platform.get("S3_INSECURE", "false") == "true",
        "keyFormat": f"{tenant.slug}/{{{{workflow.name}}}}/{{{{pod.name}}}}",
        "accessKeySecret": {"name": "gpulab-artifacts", "key": "accesskey"},
        "secretKeySecret": {"name": "gpulab-artifacts", "key": "secretkey"},
    }
    annotations = {"workflows.argoproj.io/default-artifact-repository": "default"}
    data = {"default": to_yaml({"archiveLogs": True, "s3": s3})}
    return config_map(tenant.namespace("ci"), "artifact-repositories", data, annotations)


def events(platform: Platform, tenant: Tenant) -> list[Json]:
    """What starts runs: the event bindings and the schedule that finds what they missed."""
    settings = Settings(version=platform.version)
    commits = f"{platform['FORGE_URL'].rstrip('/')}/{tenant.repository}/commit/"
    bindings = [linked(one, commits) for one in binding_documents(tenant.slug, settings)]
    documents = [*bindings, schedule_document(tenant.slug, settings)]
    for one in documents:
        one["metadata"] |= {"namespace": tenant.namespace("ci"), "labels": dict(PART_OF)}
    return documents


def linked(binding: Json, commits: str) -> Json:
    """The binding, whose runs carry the address of their commit: Argo's UI links to it."""
    submit = binding["spec"]["submit"]
    given = {one["name"]: one for one in submit["arguments"]["parameters"]}
    address = f"{json.dumps(commits)} + {given['revision']['valueFrom']['event']}"
    submit["metadata"]["annotations"]["gpulab/commit"] = address  # an expression, as the name is
    return binding
