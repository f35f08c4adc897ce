"""What an upgrade asks of the cluster, and the objects of tenants that it writes."""

from pathlib import Path

from gpulab.doctor.snapshot import Snapshot
from gpulab.doctor.tenants import tenant_of
from gpulab.kubernetes import Api, path_of
from gpulab.rendering.documents import read_documents
from gpulab.rendering.kustomize import build
from gpulab.tenants.objects import Json
from gpulab.tenants.plan import events
from gpulab.upgrade.plan import Upgrade, plan

WORKFLOWS = "/apis/argoproj.io/v1alpha1/workflows"
IN_FLIGHT = "workflows.argoproj.io/completed!=true"


def planned(api: Api, seen: Snapshot, overlay: Path) -> Upgrade:
    """The upgrade of an installation to an overlay of this version.

    Raises:
        ContractError: kustomize refuses the overlay.
        ApiError: the cluster does not answer.
    """
    documents = read_documents(build(overlay, str(overlay)))
    wanted = [one for one in documents if one["kind"] == "ClusterWorkflowTemplate"]
    runs = [{**one, "kind": "Workflow"} for one in api.list(WORKFLOWS, labelSelector=IN_FLIGHT)]
    starters = [*seen.all("WorkflowEventBinding"), *seen.all("CronWorkflow")]
    return plan(wanted, seen.all("ClusterWorkflowTemplate"), runs, starters, due(seen))


def due(seen: Snapshot) -> list[Json]:
    """What starts runs, of every tenant, as this version makes it."""
    platform = seen.platform
    return [one for project in seen.projects() if platform for one in events(platform, tenant_of(seen, project))]


def move(api: Api, document: Json) -> None:
    """Write one of them.

    Raises:
        ApiError: it is refused.
    """
    metadata = document["metadata"]
    api.apply(path_of(document["apiVersion"], document["kind"], metadata["namespace"], metadata["name"]), document)
