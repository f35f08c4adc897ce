"""Connect a project: forge first, then the cluster, and the webhook last, when its receiver is there."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import yaml

from gpulab.errors import PlatformError
from gpulab.forges.clone import Clone
from gpulab.forges.start import store_start
from gpulab.rendering.yaml_text import to_yaml_stream
from gpulab.tenants.cluster import Cluster
from gpulab.tenants.forge_admin import ForgeAdmin
from gpulab.tenants.forge_plan import ForgePlan, Tokens, forge_plan, in_words
from gpulab.tenants.objects import Json
from gpulab.tenants.plan import CLIENTS, Secrets, objects
from gpulab.tenants.project import ROLES, Tenant
from gpulab.tenants.rbac import WEBHOOK
from gpulab.tenants.settings import PLATFORM_NAMESPACE, Platform, clone_url

Say = Callable[[str], None]
HIDDEN = Secrets("…", "…", "…", ("…", "…"), "…")


def connect(cluster: Cluster, admin: ForgeAdmin, platform: Platform, tenant: Tenant, say: Say) -> None:
    """Make everything that a project's push needs; what is there is kept or brought up to date.

    Raises:
        InputError: the repository is not there, a token is missing, or the project's name is taken.
        PlatformError: forge or cluster do not answer, or the platform has no key for the artifact store.
    """
    cluster.claim(tenant)
    admin.look()
    known = kept(cluster, tenant)
    bot, tokens = admin.bot(tenant.bot, Tokens(known.bot, known.clone))
    say(f"account {bot}: may write to {tenant.repository}")
    plan = forge_plan(platform, tenant, bot)
    documents = objects(platform, tenant, replace(known, bot=tokens.bot, clone=tokens.clone))
    cluster.apply(documents)
    say(f"{len(documents)} objects in {', '.join(tenant.namespace(role) for role in ROLES)}: applied")
    for line in _branches(admin, plan, Clone(clone_url(platform, tenant), tokens.bot)):
        say(line)
    say(admin.hook(plan.hook, known.webhook, cluster.account_token(tenant.namespace("ci"), WEBHOOK)))


def _branches(admin: ForgeAdmin, plan: ForgePlan, clone: Clone) -> Iterator[str]:
    there = clone.heads(*(one.branch for one in plan.protections))
    for one in plan.protections:
        if one.branch not in there:
            clone.push(one.branch, store_start(clone.git), None)
            yield f"branch {one.branch}: made; it holds no release yet"
        yield admin.protect(one)


def kept(cluster: Cluster, tenant: Tenant) -> Secrets:
    """The secrets that are there; the webhook's is made when there is none.

    Raises:
        PlatformError: the platform has no key for the artifact store.
    """
    ci, build = tenant.namespace("ci"), tenant.namespace("build")
    store = cluster.of_platform("gpulab-artifacts", tenant.slug)
    if not (store.get("accesskey") and store.get("secretkey")):
        where = f"namespace {PLATFORM_NAMESPACE}: Secret gpulab-artifacts-{tenant.slug}, or gpulab-artifacts for all,"
        raise PlatformError(f"{where} with accesskey and secretkey of the artifact store is not there. Create it.")
    return Secrets(
        webhook=webhook_secret(cluster.secret(ci, CLIENTS).get(WEBHOOK, "")) or secrets.token_hex(32),
        bot=cluster.secret(ci, "gpulab-forge").get("token", ""),
        clone=cluster.secret(build, "gpulab-forge").get("token", ""),
        artifacts=(store["accesskey"], store["secretkey"]),
        registry=cluster.of_platform("gpulab-registry", tenant.slug).get(".dockerconfigjson", ""),
        reader=cluster.of_platform("gpulab-registry-read", tenant.slug).get(".dockerconfigjson", ""),
    )


def webhook_secret(client: str) -> str:
    """The secret in an entry of `argo-workflows-webhook-clients`; "" when there is none."""
    with suppress(yaml.YAMLError):
        document: Any = yaml.safe_load(client)
        return str(document.get("secret") or "") if isinstance(document, dict) else ""
    return ""


def shown(platform: Platform, tenant: Tenant) -> str:
    """What `connect` would do: the objects as YAML without the values of Secrets, and the forge's part in words."""
    documents = [hidden(one) for one in objects(platform, tenant, HIDDEN)]
    lines = [f"# {line}\n" for line in in_words(forge_plan(platform, tenant, tenant.bot))]
    return to_yaml_stream(documents) + "".join(lines)


def hidden(document: Json) -> Json:
    """The object; a Secret keeps its keys alone."""
    if document["kind"] != "Secret" or "data" not in document:
        return document
    return document | {"data": dict.fromkeys(document["data"], "…")}


def disconnect(cluster: Cluster, admin: ForgeAdmin, platform: Platform, tenant: Tenant, say: Say) -> None:
    """The reverse: nothing comes in, nothing runs, nothing is left; the repository keeps its branches.

    Raises:
        InputError: the project's name is another one's.
        PlatformError: forge or cluster do not answer; doing it again goes on.
    """
    cluster.claim(tenant)
    plan = forge_plan(platform, tenant, tenant.bot)
    say(admin.remove_hook(plan.hook))
    say(cluster.remove_events(tenant.namespace("ci")))
    for line in cluster.remove(tenant):
        say(line)
    for one in plan.protections:
        say(admin.unprotect(one.branch))
    say(admin.remove_bot(plan.bot))
