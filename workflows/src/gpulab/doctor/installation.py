"""Argo's two Deployments, the controller's configuration, and the platform's settings."""

from collections.abc import Iterator
from typing import Any

from gpulab.doctor.check import Check, Level, judged
from gpulab.doctor.snapshot import Snapshot
from gpulab.rendering.documents import DocumentError, read_documents
from gpulab.tenants.settings import NEEDED, PLATFORM, PLATFORM_NAMESPACE

APPLY = "Type: gpulab platform upgrade --overlay <your overlay>"
BY_DIGEST = ("GPULAB_BUILDKIT_IMAGE", "GPULAB_LANE_")
"""Settings that the steps of a pipeline take by digest alone."""

CONFIGURED = ("artifactRepository", "executor", "links", "parallelism", "podSpecLogStrategy", "retentionPolicy")


def checks(seen: Snapshot) -> Iterator[Check]:
    """What `kubectl apply -k` of an overlay brings, besides the pipelines."""
    for name in ("workflow-controller", "argo-server"):
        yield from _deployment(seen, name)
    config = seen.data("workflow-controller-configmap", "argo")
    yield judged("controller's configuration", "complete", [one for one in CONFIGURED if not config.get(one)], APPLY)
    yield _restrictions(config)
    if "sso" in config:
        yield _sso(seen, config["sso"])
    settings = seen.data(PLATFORM, PLATFORM_NAMESPACE)
    fix = "Write it into platform.env of your overlay, then: gpulab platform upgrade"
    yield judged("platform's settings", "complete", [one for one in NEEDED if not settings.get(one)], fix)
    yield from _unpinned(seen, settings)


def _deployment(seen: Snapshot, name: str) -> Iterator[Check]:
    found = seen.find("Deployment", name, "argo")
    if found is None:
        yield Check("FAIL", f"Deployment argo/{name}", "missing", APPLY)
        return
    wanted, ready = found["spec"].get("replicas", 1), (found.get("status") or {}).get("readyReplicas", 0)
    fix = f"Type: kubectl -n argo describe deployment {name}; kubectl -n argo logs deployment/{name}"
    level: Level = "PASS" if ready == wanted else "WARN" if ready else "FAIL"
    yield Check(level, f"Deployment argo/{name}", f"{ready} of {wanted} ready", "" if level == "PASS" else fix)


def _restrictions(config: dict[str, str]) -> Check:
    name = "pipelines cannot be overridden"
    found = _yaml(config.get("workflowRestrictions", "")).get("templateReferencing")
    if found == "Secure":
        return Check("PASS", name, "templateReferencing: Secure")
    return Check("FAIL", name, f"templateReferencing: {found or 'not set'}, allowed: Secure", APPLY)


def _sso(seen: Snapshot, text: str) -> Check:
    settings = _yaml(text)
    secret = seen.find("Secret", (settings.get("clientSecret") or {}).get("name", ""), "argo")
    if ".example.invalid" in text:
        fix = "Patch sso in your overlay: docs/install.md, Login."
        return Check("FAIL", "login (SSO)", f"issuer {settings.get('issuer')} and redirectUrl are placeholders", fix)
    if secret is None:
        return Check(
            "FAIL", "login (SSO)", "the Secret of clientSecret is missing in argo", "See docs/install.md, Login."
        )
    return Check("PASS", "login (SSO)", f"issuer {settings.get('issuer')}")


def _unpinned(seen: Snapshot, settings: dict[str, str]) -> Iterator[Check]:
    """A tag may be another image tomorrow: steps take none, production takes none, for a course it is a warning."""
    fix = "Type: gpulab platform pin --overlay <your overlay>"
    chosen = {key: image for key, image in settings.items() if key.startswith(BY_DIGEST) and image}
    tagged = [f"{key} is {image}" for key, image in sorted(chosen.items()) if "@sha256:" not in image]
    name = "images of builds and lanes"
    yield Check("FAIL", name, "; ".join(tagged), fix) if tagged else Check("PASS", name, "by digest")
    overlay = settings.get("GPULAB_OVERLAY", "")
    if overlay not in ("teaching", "production"):
        return
    named = (*seen.all("Deployment", "argo"), *seen.all("ClusterWorkflowTemplate"))
    loose = {image for one in named for image in images_in(one["spec"]) if "@sha256:" not in image}
    level: Level = "FAIL" if overlay == "production" else "WARN"
    name = f"images by digest ({overlay})"
    yield Check(level, name, f"by tag: {', '.join(sorted(loose))}", fix) if loose else Check("PASS", name, "all")


def images_in(value: Any) -> Iterator[str]:
    """Every image that a specification names itself; the executor's is a variable of the controller."""
    if isinstance(value, dict):
        if isinstance(value.get("image"), str) and "{{" not in value["image"]:
            yield value["image"]
        if value.get("name") == "EXECUTOR_IMAGE":
            yield str(value.get("value"))
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from images_in(one)


def _yaml(text: str) -> dict[str, Any]:
    try:
        return next(iter(read_documents(text)), {})
    except DocumentError:
        return {}
