"""Who may do what in a tenant's namespaces. No wildcard, no list of Secrets, nothing cluster-wide.

The ClusterRoles `gpulab-templates` (bound to every ServiceAccount) and `gpulab-argo-server-tenant` are the platform's:
gitops/base/tenants.
"""

from collections.abc import Iterator

from gpulab.events import ENVIRONMENTS
from gpulab.rendering.release_rules.shape import KINDS
from gpulab.tenants.objects import Json, made, token_secret
from gpulab.tenants.project import RELEASED, Tenant

RBAC, GROUP = "rbac.authorization.k8s.io/v1", "rbac.authorization.k8s.io"
ARGO = "argoproj.io"
PIPELINE, EXECUTOR, WEBHOOK, STUDENT = "gpulab-pipeline", "gpulab-executor", "gpulab-webhook", "gpulab-student"
SEEN_BY_STUDENTS = ("gpulab-artifacts",)
"""Argo's server reads the artifact store's key with the token of who looks at a report."""


def rule(group: str, resources: list[str], verbs: list[str], names: list[str] | None = None) -> Json:
    """One rule of a Role."""
    return {"apiGroups": [group], "resources": resources, "verbs": verbs} | ({"resourceNames": names} if names else {})


def release_rules() -> list[Json]:
    """Apply, prune and watch what a release may hold (`rendering.release_rules`), and see how its pods do."""
    groups: dict[str, list[str]] = {}
    for kind, version in KINDS.items():
        plural = "networkpolicies" if kind == "NetworkPolicy" else f"{kind.lower()}s"
        groups.setdefault(version.rpartition("/")[0], []).append(plural)
    applied = [
        rule(group, sorted(kinds), ["get", "list", "create", "patch", "delete"]) for group, kinds in groups.items()
    ]
    seen = [rule("", ["pods", "events"], ["get", "list"]), rule("", ["pods/log"], ["get"])]
    return [*sorted(applied, key=lambda one: one["apiGroups"]), *seen]


def build_rules() -> list[Json]:
    """Make a build's pod, watch it, read its log, remove it."""
    pods = rule("", ["pods"], ["create", "get", "list", "watch", "delete"])
    return [pods, rule("", ["pods/log"], ["get"])]


def pipeline_rules() -> list[Json]:
    """Tell the controller about results; find and start what was missed; remember what is released."""
    records = [f"gpulab-{what}-{environment}" for what in ("inventory", "release") for environment in ENVIRONMENTS]
    return [
        *executor_rules(),
        rule(ARGO, ["workflows"], ["get", "list", "create"]),
        rule("", ["configmaps"], ["create"]),
        rule("", ["configmaps"], ["get", "patch"], records),
    ]


def executor_rules() -> list[Json]:
    """All that Argo's own containers in a pod need."""
    return [rule(ARGO, ["workflowtaskresults"], ["create", "patch"])]


def webhook_rules() -> list[Json]:
    """Turn an event into a Workflow."""
    return [rule(ARGO, ["workfloweventbindings"], ["list"]), rule(ARGO, ["workflows"], ["create"])]


def student_rules() -> list[Json]:
    """Look at runs, their logs and reports."""
    return [
        rule(ARGO, ["workflows"], ["get", "list", "watch"]),
        rule("", ["pods", "events"], ["get", "list", "watch"]),
        rule("", ["pods/log"], ["get"]),
        rule("", ["secrets"], ["get"], list(SEEN_BY_STUDENTS)),
    ]


def rights(tenant: Tenant) -> Iterator[Json]:
    """ServiceAccounts, Roles and RoleBindings of a tenant."""
    ci = tenant.namespace("ci")
    for name in (PIPELINE, EXECUTOR, WEBHOOK):
        yield _account(ci, name)
    group = {"workflows.argoproj.io/rbac-rule": f"'{tenant.slug}' in groups"}
    yield _account(ci, STUDENT, group | {"workflows.argoproj.io/rbac-rule-precedence": "1"})
    for name in (EXECUTOR, WEBHOOK, STUDENT):
        yield token_secret(ci, name)
    accounts = {PIPELINE: pipeline_rules(), EXECUTOR: executor_rules(), WEBHOOK: webhook_rules()}
    for name, rules in (accounts | {STUDENT: student_rules()}).items():
        yield from _may(tenant, "ci", name, rules)
    yield from _may(tenant, "build", PIPELINE, build_rules())
    for role in RELEASED:
        yield from _may(tenant, role, PIPELINE, release_rules())
    server = {"kind": "ServiceAccount", "name": "argo-server", "namespace": "argo"}
    yield _binding(ci, "gpulab-argo-server", "ClusterRole", "gpulab-argo-server-tenant", server)


def _account(namespace: str, name: str, annotations: dict[str, str] | None = None) -> Json:
    return made("v1", "ServiceAccount", namespace, name, annotations, automountServiceAccountToken=name == PIPELINE)


def _may(tenant: Tenant, role: str, account: str, rules: list[Json]) -> Iterator[Json]:
    namespace = tenant.namespace(role)
    yield made(RBAC, "Role", namespace, account, rules=rules)
    subject = {"kind": "ServiceAccount", "name": account, "namespace": tenant.namespace("ci")}
    yield _binding(namespace, account, "Role", account, subject)


def _binding(namespace: str, name: str, kind: str, role: str, subject: Json) -> Json:
    ref = {"apiGroup": GROUP, "kind": kind, "name": role}
    return made(RBAC, "RoleBinding", namespace, name, roleRef=ref, subjects=[subject])
