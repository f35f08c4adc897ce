"""`verify`: the judge apart from the judged, in one pod, so that the accelerator is queued for once.

`inputs` (platform) lays out the harness and draws the inputs; `produce` (the student's image, the only one that holds
the GPU) runs the student's code in a child process and always exits 0, because a failed container would keep `main`
from running; `main` (platform, no student code) judges and alone writes results. What `produce` could change, `main`
does not trust: it has a plan of its own and draws the inputs again; harness and inputs are read-only for `produce`.

Argo shows an input artifact to `main` alone, unless it lies in a volume that `containerSet.volumeMounts` gives to all
containers; hence the plan is fetched twice. The same holds for the baselines' sources, which `inputs` unpacks, so that
`produce` can only read them; a run without a comparable baseline has no such artifact.

See https://argo-workflows.readthedocs.io/en/latest/container-set-template/.
"""

from typing import Any

from hera.workflows import ContainerNode, ContainerSet, EmptyDirVolume, Env, Parameter, Resources
from hera.workflows.models import VolumeMount

from gpulab.pipelines.parts import (
    MESSAGE_FILE,
    RESTRICTED,
    STUDENTS_CODE,
    artifact,
    executor,
    retry_platform_trouble,
    scratch,
)
from gpulab.pipelines.settings import Settings
from gpulab.pipelines.strict import strict
from gpulab.steps.io import ATTEMPT_PREFIX, RUN_PREFIX

SHARED, GIVEN, WORK, OUT = "/gpulab/shared", "/gpulab/given", "/gpulab/work", "/gpulab/out"
SPEC = ["--spec", f"{SHARED}/plan.json"]
JUDGES_SPEC = ["--spec", "/gpulab/judge/plan.json"]
BASELINES = ["--baselines", f"{SHARED}/baselines.tar"]
SEED = ["--seed", "{{inputs.parameters.seed}}"]
PRODUCED = ["--out", f"{WORK}/produced"]
ACCELERATOR = ["--accelerator", "{{inputs.parameters.device}}"]
"""The accelerator itself; the CPU where GPUs are simulated, which the result says."""

PYTHON = ["python3", "-P", "-m"]
"""Without the working directory on the path: a `model_tests/` in a student's repository is not the harness."""

JUDGE = Resources(cpu_request="100m", cpu_limit="2", memory_request="512Mi", memory_limit="4Gi")
"""Kubernetes adds up what the three ask for, although they run one after the other."""

JUDGED = Resources(cpu_request="1", cpu_limit="4", memory_request="4Gi", memory_limit="16Gi")


def verify_template(settings: Settings) -> ContainerSet:
    """The template of one verify pod; its inputs name the accelerator."""
    with ContainerSet(
        name="verify",
        annotations={"workflows.argoproj.io/title": "verify on {{inputs.parameters.accelerator}}"},
        labels=STUDENTS_CODE,
        inputs=[
            *(Parameter(name=name) for name in ("image", "seed", "accelerator", "device", "pod-spec-patch")),
            artifact("plan", SPEC[1], f"{ATTEMPT_PREFIX}/plan.json"),
            artifact("baselines", BASELINES[1], f"{ATTEMPT_PREFIX}/baselines.tar", optional=True),
            artifact("judges-plan", JUDGES_SPEC[1], f"{ATTEMPT_PREFIX}/plan.json"),
        ],
        outputs=[
            artifact("result", f"{OUT}/result.json", stored_as(ATTEMPT_PREFIX, "verify")),
            artifact("golden", f"{OUT}/golden.json", stored_as(RUN_PREFIX, "golden"), optional=True),
        ],
        volumes=[EmptyDirVolume(name=name) for name in ("shared", "given", "work", "out", "scratch")],
        volume_mounts=[strict(VolumeMount, name="shared", mount_path=SHARED)],
        pod_spec_patch="{{inputs.parameters.pod-spec-patch}}",
        automount_service_account_token=False,
        executor=executor(settings),
        active_deadline_seconds=4500,
        retry_strategy=retry_platform_trouble(),
    ) as template:
        _inputs(settings)
        _produce()
        _main(settings)
    return template


def stored_as(prefix: str, kind: str) -> str:
    """The key of an accelerator's file."""
    return f"{prefix}/{kind}/{{{{inputs.parameters.accelerator}}}}.json"


def _inputs(settings: Settings) -> None:
    _container(
        "inputs",
        image=settings.steps_image,
        command=[*PYTHON, "model_tests.draw"],
        args=[*SPEC, *SEED, *BASELINES, "--out", GIVEN, "--harness", f"{GIVEN}/harness"],
        volumes=[scratch("given", GIVEN)],
        resources=JUDGE,
    )


def _produce() -> None:
    _container(
        "produce",
        dependencies=["inputs"],
        image="{{inputs.parameters.image}}",
        command=[*PYTHON, "model_tests.produce"],
        args=[*SPEC, "--inputs", f"{GIVEN}/inputs", "--baselines", f"{GIVEN}/baselines", *PRODUCED, *ACCELERATOR],
        env=[Env(name="PYTHONPATH", value=f"{GIVEN}/harness:/app/src")],
        volumes=[
            scratch("given", GIVEN, read_only=True),
            scratch("work", WORK),
            scratch("scratch", "/tmp"),  # noqa: S108
        ],
        resources=JUDGED,
    )


def _main(settings: Settings) -> None:
    results = ["--out", f"{OUT}/result.json", "--golden", f"{OUT}/golden.json", "--message", MESSAGE_FILE]
    _container(
        "main",
        dependencies=["produce"],
        image=settings.steps_image,
        command=[*PYTHON, "model_tests.judge"],
        args=[*JUDGES_SPEC, *SEED, "--produced", f"{WORK}/produced", *ACCELERATOR, *results],
        volumes=[scratch("work", WORK), scratch("out", OUT)],
        resources=JUDGE,
    )


def _container(name: str, **fields: Any) -> None:
    ContainerNode(name=name, security_context=RESTRICTED, termination_message_path=MESSAGE_FILE, **fields)
