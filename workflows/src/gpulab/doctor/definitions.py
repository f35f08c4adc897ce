"""Argo's CustomResourceDefinitions: all there, and the full ones, whose rules refuse what would fail later."""

from collections.abc import Iterator

from gpulab.doctor.check import Check, judged
from gpulab.doctor.snapshot import Object, Snapshot

KINDS = (
    "clusterworkflowtemplates",
    "cronworkflows",
    "workflowartifactgctasks",
    "workfloweventbindings",
    "workflows",
    "workflowtaskresults",
    "workflowtasksets",
    "workflowtemplates",
)
FIX = "Type: kubectl apply --server-side -k gitops/crds"


def checks(seen: Snapshot) -> Iterator[Check]:
    """Which are missing, which are the minimal ones."""
    found = {one["metadata"]["name"]: one for one in seen.all("CustomResourceDefinition")}
    names = [f"{kind}.argoproj.io" for kind in KINDS]
    yield judged("Argo's definitions", f"all {len(names)}", [name for name in names if name not in found], FIX)
    minimal = [name for name in names if name in found and not is_full(found[name])]
    if minimal:
        yield Check("FAIL", "Argo's definitions are full", f"minimal: {', '.join(minimal)}", FIX)


def is_full(definition: Object) -> bool:
    """Whether a definition knows the fields of its kind; a minimal one takes anything as `spec`."""
    schema = definition["spec"]["versions"][0].get("schema", {}).get("openAPIV3Schema", {})
    spec = schema.get("properties", {}).get("spec")
    return spec is None or not spec.get("x-kubernetes-preserve-unknown-fields", False)
