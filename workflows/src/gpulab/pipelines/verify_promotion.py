"""`verify-promotion`: the required check of a pull request to `deploy/production`.

The digest exists and passed, and the manifests are the rendering of that commit and nothing else.
"""

from hera.workflows import DAG, Parameter, Task, WorkflowTemplate

from gpulab.pipelines.parts import exit_handler, parameters, platform_step, workflow_template
from gpulab.pipelines.settings import Settings
from gpulab.pipelines.sync import claimed, inspect_step, proof, proof_paths
from gpulab.steps.notify import notify_promotion
from gpulab.steps.verify_promotion import verify_promotion

HEAD = parameters(
    project="{{workflow.parameters.project}}",
    revision="{{workflow.parameters.revision}}",
    run="{{workflow.name}}",
)


def build(settings: Settings) -> WorkflowTemplate:
    """The pipeline that the head of a promotion pull request runs through."""
    with workflow_template(
        settings,
        "verify-promotion",
        "{{workflow.parameters.project}}: may it go to production?",
        entrypoint="verify-promotion",
        on_exit="on-exit",
        arguments=[Parameter(name="project"), Parameter(name="revision")],
    ) as pipeline:
        inspect_step(settings)
        platform_step(
            settings,
            "verify",
            verify_promotion,
            "compare with the proof",
            deadline=300,
            inputs=proof(),
            env=proof_paths(),
        )
        platform_step(settings, "notify", notify_promotion, "tell the forge", deadline=300)
        exit_handler("on-exit", "notify", HEAD)
        with DAG(name="verify-promotion"):
            Task(name="inspect", template="inspect", arguments=HEAD[:2])
            Task(name="verify", template="verify", arguments=[*HEAD, *claimed()], depends="inspect.Succeeded")
    return pipeline
