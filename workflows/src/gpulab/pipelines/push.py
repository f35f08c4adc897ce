"""`push`: image ──► tests ∥ verify[accelerator…] ──► release.

Three levels, because every sequential pod costs seconds and every GPU pod queues again. All that needs the
accelerator is one pod per accelerator.

See https://argo-workflows.readthedocs.io/en/latest/walk-through/dag/ and …/container-set-template/.
"""

from hera.workflows import (
    DAG,
    Container,
    Env,
    Parameter,
    Resources,
    Task,
    WorkflowTemplate,
)

from gpulab.pipelines.parts import (
    RESTRICTED,
    STUDENTS_CODE,
    artifact,
    executor,
    exit_handler,
    one_at_a_time,
    parameters,
    platform_step,
    scratch,
    workflow_template,
)
from gpulab.pipelines.settings import Settings
from gpulab.pipelines.verify import verify_template
from gpulab.steps.image import image
from gpulab.steps.io import ATTEMPT_PREFIX
from gpulab.steps.notify import notify
from gpulab.steps.release import release

EVENT = parameters(
    project="{{workflow.parameters.project}}",
    revision="{{workflow.parameters.revision}}",
    ref="{{workflow.parameters.ref}}",
    run="{{workflow.name}}",
)
"""What every platform step of a push is told."""

HAS_RUN = "({0}.Succeeded || {0}.Failed || {0}.Errored || {0}.Skipped || {0}.Omitted)"
"""Argo's `depends` for "whatever became of it". A fan-out counts as Failed when one item failed."""


def build(settings: Settings) -> WorkflowTemplate:
    """The pipeline that one push of one commit runs through."""
    with workflow_template(
        settings,
        "push",
        "{{workflow.parameters.project}} {{workflow.parameters.revision}}",
        entrypoint="push",
        on_exit="on-exit",
        arguments=[Parameter(name="project"), Parameter(name="revision"), Parameter(name="ref")],
    ) as pipeline:
        _image(settings)
        _tests(settings)
        verify_template(settings)
        _release(settings)
        platform_step(settings, "notify", notify, "tell the forge", deadline=300)
        exit_handler("on-exit", "notify", EVENT)
        with DAG(name="push", fail_fast=False):
            built = Task(name="image", template="image", arguments=EVENT)
            tests = Task(name="tests", template="tests", arguments=[_output("image")], depends="image.Succeeded")
            verify = Task(
                name="verify",
                template="verify",
                arguments=[
                    _output("image"),
                    _output("seed"),
                    *parameters(
                        accelerator="{{item.name}}", device="{{item.on}}", pod_spec_patch="{{item.podSpecPatch}}"
                    ),
                ],
                with_param="{{tasks.image.outputs.parameters.accelerators}}",
                depends="image.Succeeded",
            )
            Task(
                name="release",
                template="release",
                arguments=[
                    *EVENT,
                    *parameters(
                        image_status="{{tasks.image.status}}",
                        tests_status="{{tasks.tests.status}}",
                        verify_status="{{tasks.verify.status}}",
                    ),
                ],
                depends=" && ".join(HAS_RUN.format(task.name) for task in (built, tests, verify)),
            )
    return pipeline


def _output(name: str) -> Parameter:
    return Parameter(name=name, value=f"{{{{tasks.image.outputs.parameters.{name}}}}}")


def _image(settings: Settings) -> None:
    platform_step(
        settings,
        "image",
        image,
        "plan, then build by digest",
        deadline=1800,
        resources=Resources(cpu_request="500m", cpu_limit="2", memory_request="1Gi", memory_limit="4Gi"),
    )


def _release(settings: Settings) -> None:
    platform_step(
        settings,
        "release",
        release,
        "verdict, report, release",
        deadline=900,
        inputs=[artifact("run-folder", "/gpulab/run", ATTEMPT_PREFIX, optional=True)],
        env=[Env(name="GPULAB_RUN_DIR", value="/gpulab/run")],
        synchronization=one_at_a_time("release"),
    )


def _tests(settings: Settings) -> Container:
    """The project's own tests in the project's own image: no platform code, no platform settings."""
    return Container(
        name="tests",
        annotations={"workflows.argoproj.io/title": "the project's own tests"},
        labels=STUDENTS_CODE,
        image="{{inputs.parameters.image}}",
        command=["python3", "-m", "pytest"],
        args=["-q", "-p", "no:cacheprovider", "--junitxml=/gpulab/out/junit.xml", "tests"],
        inputs=[Parameter(name="image")],
        outputs=[artifact("junit", "/gpulab/out/junit.xml", f"{ATTEMPT_PREFIX}/tests/junit.xml", optional=True)],
        volumes=[scratch("out", "/gpulab/out"), scratch("scratch", "/tmp")],  # noqa: S108
        termination_message_policy="FallbackToLogsOnError",  # pytest's summary is its last words
        security_context=RESTRICTED,
        automount_service_account_token=False,
        executor=executor(settings),
        resources=Resources(cpu_request="500m", cpu_limit="2", memory_request="1Gi", memory_limit="4Gi"),
        active_deadline_seconds=1800,
    )
