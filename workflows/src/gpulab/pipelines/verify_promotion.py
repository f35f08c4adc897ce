"""`verify-promotion`: the required check of a pull request to `deploy/production`.

The digest exists and passed, and the manifests are the rendering of that commit and nothing else.
"""

from hera.workflows import DAG, Parameter, Task, WorkflowTemplate, script

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
        read = inspect_step(settings)
        fields = platform_step(settings, "compare with the proof", deadline=300, inputs=proof())
        fields["env"].extend(proof_paths())
        check = script(name="verify", **fields)(verify_promotion)()
        tell = script(name="notify", **platform_step(settings, "tell the forge", deadline=300))(notify_promotion)()
        exit_handler("on-exit", tell.name or "notify", HEAD)
        with DAG(name="verify-promotion"):
            Task(name="inspect", template=read.name, arguments=HEAD[:2])
            Task(name="verify", template=check.name, arguments=[*HEAD, *claimed()], depends="inspect.Succeeded")
    return pipeline
