"""`sync`: a push to a deploy branch is made true in its environment, the same way for teaching and production.

`inspect` reads which run the release claims; `sync` compares the claim with that run's record, which the project
cannot reach, then applies, waits, asks the golden request, and puts the previous release back if it must.
"""

from hera.workflows import DAG, Env, Parameter, S3Artifact, Task, WorkflowTemplate

from gpulab.pipelines.parts import (
    artifact,
    exit_handler,
    one_at_a_time,
    parameters,
    platform_step,
    workflow_template,
)
from gpulab.pipelines.settings import Settings
from gpulab.steps.inspect import inspect
from gpulab.steps.notify import notify_sync
from gpulab.steps.sync import sync

TARGET = parameters(
    project="{{workflow.parameters.project}}",
    revision="{{workflow.parameters.revision}}",
    environment="{{workflow.parameters.environment}}",
    run="{{workflow.name}}",
)
CLAIMED = "{{workflow.parameters.project}}/{{inputs.parameters.claimed-run}}"
"""The prefix of the run that a release says it comes from."""


def build(settings: Settings) -> WorkflowTemplate:
    """The pipeline that one commit of a deploy branch runs through."""
    with workflow_template(
        settings,
        "sync",
        "{{workflow.parameters.project}} → {{workflow.parameters.environment}}",
        entrypoint="sync",
        on_exit="on-exit",
        arguments=[Parameter(name="project"), Parameter(name="revision"), Parameter(name="environment")],
    ) as pipeline:
        inspect_step(settings)
        platform_step(
            settings,
            "apply",
            sync,
            "apply, wait, ask",
            deadline=900,
            inputs=proof(),
            env=proof_paths(),
            synchronization=one_at_a_time("sync"),
        )
        platform_step(settings, "notify", notify_sync, "tell the forge", deadline=300)
        exit_handler("on-exit", "notify", TARGET)
        with DAG(name="sync"):
            Task(name="inspect", template="inspect", arguments=TARGET[:2])
            Task(name="apply", template="apply", arguments=[*TARGET, *claimed()], depends="inspect.Succeeded")
    return pipeline


def inspect_step(settings: Settings) -> None:
    """The step that reads what a release claims; `verify-promotion` has it too."""
    platform_step(settings, "inspect", inspect, "what does the release claim?", deadline=300)


def claimed() -> list[Parameter]:
    """What `inspect` found, as arguments."""
    return parameters(
        claimed_run="{{tasks.inspect.outputs.parameters.claimed-run}}",
        claimed_accelerator="{{tasks.inspect.outputs.parameters.claimed-accelerator}}",
    )


def proof() -> list[S3Artifact]:
    """The record and the golden answer of the run that a release claims, as input artifacts."""
    golden = f"{CLAIMED}/golden/{{{{inputs.parameters.claimed-accelerator}}}}.json"
    return [
        artifact("record", "/gpulab/record/results.json", f"{CLAIMED}/results.json", optional=True),
        artifact("golden", "/gpulab/golden/golden.json", golden, optional=True),
    ]


def proof_paths() -> list[Env]:
    """Where the step finds them."""
    return [
        Env(name="GPULAB_RECORD", value="/gpulab/record/results.json"),
        Env(name="GPULAB_GOLDEN", value="/gpulab/golden/golden.json"),
    ]
