"""`reconcile`: every five minutes, what was missed: events that got lost, runs that ended without a word.

One step in the project's own namespace. It lists and creates Workflows through the Kubernetes API, as the pipelines'
service account.

See https://argo-workflows.readthedocs.io/en/latest/cron-workflows/.
"""

import hashlib

from hera.workflows import DAG, Parameter, Task, WorkflowTemplate
from hera.workflows.models import (
    Arguments,
    CronWorkflow,
    CronWorkflowSpec,
    ObjectMeta,
    TTLStrategy,
    WorkflowSpec,
    WorkflowTemplateRef,
)
from hera.workflows.models import Parameter as ParameterModel

from gpulab.clusters.workflows import TITLE
from gpulab.pipelines.parts import parameters, platform_step, workflow_template
from gpulab.pipelines.settings import Settings
from gpulab.pipelines.strict import strict
from gpulab.steps.reconcile import reconcile

EVERY = 5
"""Minutes between two runs: how long a lost event is late at most."""


def build(settings: Settings) -> WorkflowTemplate:
    """The pipeline that looks after one project."""
    with workflow_template(
        settings,
        "reconcile",
        "{{workflow.parameters.project}}: was anything missed?",
        entrypoint="reconcile",
        arguments=[Parameter(name="project")],
    ) as pipeline:
        platform_step(settings, "mend", reconcile, "start what was missed, close what was left open", deadline=240)
        with DAG(name="reconcile"):
            version = settings.template_name("x").removeprefix("x-")
            given = parameters(project="{{workflow.parameters.project}}", version=version)
            Task(name="mend", template="mend", arguments=given)
    pipeline.ttl_strategy = strict(TTLStrategy, seconds_after_success=600, seconds_after_failure=86400)
    return pipeline


def schedule(settings: Settings, project: str) -> CronWorkflow:
    """The CronWorkflow of one project's namespace; a project's minute follows from its name."""
    template = strict(WorkflowTemplateRef, name=settings.template_name("reconcile"), cluster_scope=True)
    arguments = strict(Arguments, parameters=[strict(ParameterModel, name="project", value=project)])
    return strict(
        CronWorkflow,
        api_version="argoproj.io/v1alpha1",
        kind="CronWorkflow",
        metadata=strict(ObjectMeta, name="gpulab-reconcile", labels={"app.kubernetes.io/part-of": "gpulab"}),
        spec=strict(
            CronWorkflowSpec,
            schedules=[f"{minute(project)}-59/{EVERY} * * * *"],
            timezone="UTC",
            concurrency_policy="Forbid",
            starting_deadline_seconds=120,
            successful_jobs_history_limit=1,
            failed_jobs_history_limit=2,
            workflow_metadata=strict(ObjectMeta, annotations={TITLE: "was anything missed?"}),
            workflow_spec=strict(WorkflowSpec, workflow_template_ref=template, arguments=arguments),
        ),
    )


def minute(project: str) -> int:
    """From 0 to EVERY - 1, so that a course's projects do not all start at once."""
    return hashlib.sha256(project.encode()).digest()[0] % EVERY
