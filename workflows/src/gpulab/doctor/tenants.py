"""What `gpulab project connect` made for each project: all of it there, and as this version makes it."""

from collections.abc import Iterator

from gpulab.doctor.access import CONNECT
from gpulab.doctor.check import Check
from gpulab.doctor.compare import difference
from gpulab.doctor.snapshot import Object, Snapshot
from gpulab.pipelines.settings import Settings
from gpulab.tenants.namespaces import GPU
from gpulab.tenants.objects import Json
from gpulab.tenants.plan import Secrets, objects
from gpulab.tenants.project import Tenant
from gpulab.tenants.settings import Platform

UNKNOWN = Secrets("-", "-", "-", ("-", "-"), "-")
"""Only the names and keys of Secrets are compared."""

MOVED = ("WorkflowEventBinding", "CronWorkflow")
"""Kinds that follow the version of the pipelines."""


def checks(seen: Snapshot) -> Iterator[Check]:
    """Each tenant in turn; a word when there is none."""
    projects = seen.projects()
    if not projects:
        yield Check("WARN", "tenants", "no project is connected", "In a project, type: gpulab project connect")
        return
    if seen.platform is None:
        yield Check("WARN", "tenants", "not compared: the platform's settings are incomplete")
        return
    for project in projects:
        yield from _tenant(seen, project, seen.platform)


def tenant_of(seen: Snapshot, project: str) -> Tenant:
    """A project as it was connected."""
    repository = seen.data(Settings().config_map, f"{project}-ci").get("GPULAB_FORGE_REPOSITORY", "")
    quota = seen.find("ResourceQuota", "gpulab", f"{project}-ci")
    gpus = int((quota or {"spec": {"hard": {}}})["spec"]["hard"].get(GPU, 1))
    return Tenant(project, repository, gpus)


def _tenant(seen: Snapshot, project: str, platform: Platform) -> Iterator[Check]:
    tenant = tenant_of(seen, project)
    if not tenant.repository:
        yield Check("FAIL", f"tenant {project}", "its ConfigMap gpulab names no repository", CONNECT)
        return
    planned = objects(platform, tenant, UNKNOWN)
    wrong = 0
    for wanted in planned:
        found = _differs(seen, wanted)
        if found:
            wrong += 1
            fix = "Type: gpulab platform upgrade (it moves them)" if wanted["kind"] in MOVED else CONNECT
            yield Check("FAIL", f"tenant {project}: {_name(wanted)}", found, fix)
    if not wrong:
        yield Check("PASS", f"tenant {project}", f"{len(planned)} objects as gpulab {Settings().version} makes them")
    schedule = seen.find("CronWorkflow", "gpulab-reconcile", f"{project}-ci")
    if schedule is not None and schedule["spec"].get("suspend"):
        fix = f"Type: argo cron resume gpulab-reconcile -n {project}-ci"
        yield Check("WARN", f"tenant {project}: reconciler", "suspended: a lost event stays lost", fix)


def _name(wanted: Json) -> str:
    metadata = wanted["metadata"]
    return f"{wanted['kind']} {'/'.join(metadata[key] for key in ('namespace', 'name') if key in metadata)}"


def _differs(seen: Snapshot, wanted: Json) -> str:
    metadata = wanted["metadata"]
    live = seen.find(wanted["kind"], metadata["name"], metadata.get("namespace", ""))
    if live is None:
        return "missing"
    where = _keys(live, wanted) if wanted["kind"] == "Secret" else _fields(live, wanted)
    return f"{where} is not as gpulab {Settings().version} makes it" if where else ""


def _keys(live: Object, wanted: Json) -> str:
    filled = {"token"} if wanted.get("type") == "kubernetes.io/service-account-token" else set()  # by Kubernetes
    lacking = sorted(((wanted.get("data") or {}).keys() | filled) - (live.get("data") or {}).keys())
    return f"key {lacking[0]}" if lacking else ""


def _fields(live: Object, wanted: Json) -> str:
    parts = {key: one for key, one in wanted.items() if key not in ("apiVersion", "kind")}
    found = (difference(live.get(key), one, key) for key, one in sorted(parts.items()))
    return next(filter(None, found), "")
