"""`push`: image ──► tests ∥ verify[accelerator…] ──► release.

Three levels, because every sequential pod costs seconds and every GPU pod queues again. All that needs the
accelerator is one pod per accelerator.

See https://argo-workflows.readthedocs.io/en/latest/walk-through/dag/ and …/container-set-template/.
"""

from hera.workflows import (
    DAG,
    Container,
    ContainerNode,
    ContainerSet,
    Env,
    Parameter,
    Resources,
    Script,
    Task,
    WorkflowTemplate,
    script,
)

from gpulab.pipelines.parts import (
    MESSAGE_FILE,
    RESTRICTED,
    RUN_PREFIX,
    artifact,
    exit_handler,
    one_at_a_time,
    parameters,
    platform_step,
    retry_platform_trouble,
    scratch,
    workflow_template,
)
from gpulab.pipelines.settings import Settings
from gpulab.steps.image import image
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
        build_image = _image(settings)
        _tests()
        _verify(settings)
        judge = _release(settings)
        tell = _notify(settings)
        exit_handler("on-exit", tell.name or "notify", EVENT)
        with DAG(name="push", fail_fast=False):
            built = Task(name="image", template=build_image.name, arguments=EVENT)
            tests = Task(name="tests", template="tests", arguments=[_output("image")], depends="image.Succeeded")
            verify = Task(
                name="verify",
                template="verify",
                arguments=[
                    _output("image"),
                    _output("seed"),
                    *parameters(accelerator="{{item.name}}", pod_spec_patch="{{item.podSpecPatch}}"),
                ],
                with_param="{{tasks.image.outputs.parameters.accelerators}}",
                depends="image.Succeeded",
            )
            Task(
                name="release",
                template=judge.name,
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


def _image(settings: Settings) -> Script:
    fields = platform_step(
        settings,
        "plan, then build by digest",
        deadline=1800,
        resources=Resources(cpu_request="500m", cpu_limit="2", memory_request="1Gi", memory_limit="4Gi"),
    )
    return script(name="image", **fields)(image)()


def _release(settings: Settings) -> Script:
    fields = platform_step(
        settings,
        "verdict, report, release",
        deadline=900,
        inputs=[artifact("run", "/gpulab/run", RUN_PREFIX, optional=True)],
        synchronization=one_at_a_time("release"),
    )
    fields["env"].append(Env(name="GPULAB_RUN_DIR", value="/gpulab/run"))
    return script(name="release", **fields)(release)()


def _notify(settings: Settings) -> Script:
    return script(name="notify", **platform_step(settings, "tell the forge", deadline=300))(notify)()


def _tests() -> Container:
    """The project's own tests in the project's own image: no platform code, no platform settings."""
    return Container(
        name="tests",
        annotations={"workflows.argoproj.io/title": "the project's own tests"},
        image="{{inputs.parameters.image}}",
        command=["python3", "-m", "pytest"],
        args=["-q", "-p", "no:cacheprovider", "--junitxml=/gpulab/out/junit.xml", "tests"],
        inputs=[Parameter(name="image")],
        outputs=[artifact("junit", "/gpulab/out/junit.xml", f"{RUN_PREFIX}/tests/junit.xml", optional=True)],
        volumes=[scratch("out", "/gpulab/out"), scratch("scratch", "/tmp")],  # noqa: S108
        security_context=RESTRICTED,
        automount_service_account_token=False,
        resources=Resources(cpu_request="500m", cpu_limit="2", memory_request="1Gi", memory_limit="4Gi"),
        active_deadline_seconds=1800,
    )


def _verify(settings: Settings) -> ContainerSet:
    """The judge apart from the judged, in one pod, so that the accelerator is queued for once.

    `inputs` (platform) lays out the harness and draws the inputs; `produce` (the student's image, the only one that
    holds the GPU) runs the student's code in a child process and always exits 0, because a failed container would
    keep `main` from running; `main` (platform, no student code) judges and alone writes results. What `produce`
    could change, `main` does not trust: plan, harness and inputs are mounted read-only there, and drawn again here.
    """
    plan, given, work = "/gpulab/plan", "/gpulab/given", "/gpulab/work"
    spec = ["--spec", f"{plan}/plan.json"]
    seed = ["--seed", "{{inputs.parameters.seed}}"]
    result = f"{RUN_PREFIX}/verify/{{{{inputs.parameters.accelerator}}}}.json"
    golden = f"{RUN_PREFIX}/golden/{{{{inputs.parameters.accelerator}}}}.json"
    with ContainerSet(
        name="verify",
        annotations={"workflows.argoproj.io/title": "verify on {{inputs.parameters.accelerator}}"},
        inputs=[
            Parameter(name="image"),
            Parameter(name="seed"),
            Parameter(name="accelerator"),
            Parameter(name="pod-spec-patch"),
            artifact("plan", f"{plan}/plan.json", f"{RUN_PREFIX}/plan.json"),
        ],
        outputs=[
            artifact("result", "/gpulab/out/result.json", result),
            artifact("golden", "/gpulab/out/golden.json", golden, optional=True),
        ],
        # hera adds the pod's volumes from the containers' mounts
        pod_spec_patch="{{inputs.parameters.pod-spec-patch}}",
        automount_service_account_token=False,
        active_deadline_seconds=3600,
        retry_strategy=retry_platform_trouble(),
    ) as verify:
        common = {"security_context": RESTRICTED, "termination_message_path": MESSAGE_FILE}
        steps = Resources(cpu_request="500m", cpu_limit="2", memory_request="1Gi", memory_limit="4Gi")
        ContainerNode(
            name="inputs",
            image=settings.steps_image,
            command=["python3", "-m", "model_tests.draw"],
            args=[*spec, *seed, "--out", given, "--harness", f"{given}/harness"],
            volumes=[scratch("plan", plan, read_only=True), scratch("given", given)],
            resources=steps,
            **common,
        )
        ContainerNode(
            name="produce",
            dependencies=["inputs"],
            image="{{inputs.parameters.image}}",
            command=["python3", "-m", "model_tests.produce"],
            args=[
                *spec,
                *["--inputs", f"{given}/inputs", "--out", f"{work}/produced"],
                *["--accelerator", "{{inputs.parameters.accelerator}}"],
            ],
            env=[Env(name="PYTHONPATH", value=f"{given}/harness:/app/src")],
            volumes=[
                scratch("plan", plan, read_only=True),
                scratch("given", given, read_only=True),
                scratch("work", work),
                scratch("scratch", "/tmp"),  # noqa: S108
            ],
            resources=Resources(cpu_request="1", cpu_limit="4", memory_request="4Gi", memory_limit="16Gi"),
            **common,
        )
        ContainerNode(
            name="main",
            dependencies=["produce"],
            image=settings.steps_image,
            command=["python3", "-m", "model_tests.judge"],
            args=[
                *spec,
                *seed,
                *["--produced", f"{work}/produced", "--accelerator", "{{inputs.parameters.accelerator}}"],
                *["--out", "/gpulab/out/result.json", "--golden", "/gpulab/out/golden.json"],
                *["--message", MESSAGE_FILE],
            ],
            volumes=[
                scratch("plan", plan, read_only=True),
                scratch("work", work),
                scratch("out", "/gpulab/out"),
            ],
            resources=steps,
            **common,
        )
    return verify
