"""`reconcile`: start what no event started, and close what no run will close; in the project's own namespace."""

import os
from datetime import UTC, datetime

from hera.workflows.io import Input, Output

from gpulab.clusters.workflows import KubernetesWorkflows, Workflows
from gpulab.errors import GpulabError, PlatformError
from gpulab.forges.protocol import Forge
from gpulab.kubernetes.connect import connect
from gpulab.platform import from_environment
from gpulab.reconcile import Action, Facts, Say, Start, missed
from gpulab.steps.cluster_facts import cluster_facts
from gpulab.steps.outcome import truthful


class ReconcileInput(Input):
    """Which project, and the version of the pipelines that it starts (`v0-1-0`)."""

    project: str
    version: str


@truthful
def reconcile(inputs: ReconcileInput) -> Output:
    """Mend everything that was missed; exit code 3 when something could not be mended."""
    forge = from_environment(os.environ).forge
    workflows = KubernetesWorkflows(connect(), os.environ["GPULAB_NAMESPACE"])
    facts = cluster_facts(inputs.project, forge, workflows.all, datetime.now(UTC))
    troubles = list(filter(None, (mend(forge, workflows, facts, inputs.version, one) for one in missed(facts))))
    if troubles:
        raise PlatformError("; ".join(troubles))
    return Output()


def mend(forge: Forge, workflows: Workflows, facts: Facts, version: str, action: Action) -> str:
    """Do one thing; why it could not be done, empty when it was. It does not keep the others from being done."""
    try:
        if isinstance(action, Start):
            start(workflows, version, action)
        else:
            tell(forge, facts, action)
    except GpulabError as error:
        return str(error)
    return ""


def start(workflows: Workflows, version: str, action: Start) -> None:
    """Start the workflow that an event should have started; its own first step sets the status."""
    due = action.submission
    print(f"start {due.name}: {action.why}", flush=True)
    workflows.start(due.name, f"{due.pipeline}-{version}", due.parameters)


def tell(forge: Forge, facts: Facts, action: Say) -> None:
    """Set a status, unless a run has spoken since the facts were gathered."""
    context = action.status.context
    if forge.statuses(action.revision).get(context) != facts.statuses.get(action.revision, {}).get(context):
        return
    print(f"{context} of {action.revision[:12]}: {action.why}", flush=True)
    forge.set_status(action.revision, action.status)
