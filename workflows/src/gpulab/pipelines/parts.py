"""What all pipelines share: security, resources, retries, artifacts and the two kinds of container."""

from collections.abc import Callable
from typing import Any

from hera.workflows import (
    ClusterWorkflowTemplate,
    ConfigMapEnvFrom,
    EmptyDirVolume,
    Env,
    NoneArchiveStrategy,
    Parameter,
    Resources,
    RetryStrategy,
    RunnerScriptConstructor,
    S3Artifact,
    Script,
    SecretVolume,
    Step,
    Steps,
)
from hera.workflows.models import (
    Backoff,
    Capabilities,
    ExecutorConfig,
    KeyToPath,
    Mutex,
    PodGC,
    PodSecurityContext,
    SeccompProfile,
    SecurityContext,
    Synchronization,
    TTLStrategy,
)

from gpulab.pipelines.settings import Settings
from gpulab.pipelines.strict import strict

MESSAGE_FILE = "/dev/termination-log"
"""Where a container leaves the sentence that Argo shows as the node's message (Kubernetes' default path)."""

RESTRICTED = strict(
    SecurityContext,
    allow_privilege_escalation=False,
    capabilities=strict(Capabilities, drop=["ALL"]),
    read_only_root_filesystem=True,
    run_as_non_root=True,
    seccomp_profile=strict(SeccompProfile, type="RuntimeDefault"),
)
"""Pod Security `restricted`, with a read-only root."""

STUDENTS_CODE = {"gpulab/runs": "students-code"}
"""Label of the pods that run what a project wrote: no way to forge, registry and releases for them."""

SECRETS = "/gpulab/secrets"

SMALL = Resources(cpu_request="100m", cpu_limit="1", memory_request="256Mi", memory_limit="1Gi")
"""For steps that read, decide and write."""


def workflow_template(settings: Settings, pipeline: str, title: str, **fields: Any) -> ClusterWorkflowTemplate:
    """A versioned ClusterWorkflowTemplate with the defaults of the house.

    No deadline of the workflow: it would count the time a pod waits in Kueue's queue and fail a run that never
    started (leaf templates have `activeDeadlineSeconds`, which does not).
    """
    return ClusterWorkflowTemplate(
        name=settings.template_name(pipeline),
        labels={"app.kubernetes.io/part-of": "gpulab", "gpulab/pipeline": pipeline},
        annotations={"workflows.argoproj.io/title": title},
        service_account_name=settings.service_account,
        security_context=strict(
            PodSecurityContext, run_as_non_root=True, run_as_user=1000, run_as_group=1000, fs_group=1000
        ),
        pod_gc=strict(PodGC, strategy="OnPodSuccess", delete_delay_duration="60s"),
        ttl_strategy=strict(TTLStrategy, seconds_after_success=604800, seconds_after_failure=2592000),
        **fields,
    )


def retry_platform_trouble() -> RetryStrategy:
    """Run again what the platform spoilt (a lost pod, exit code 3), never what the student's code did.

    There is no `retryPolicy`: with an expression alone, the expression decides; with both, both must hold. And no
    `maxDuration`: it counts from the start of the first attempt, so a slow one would never be tried again.
    """
    return RetryStrategy(
        limit="2",
        backoff=strict(Backoff, duration="10s", factor="2"),
        expression="lastRetry.status == 'Error' || asInt(lastRetry.exitCode) == 3",
    )


def one_at_a_time(name: str) -> Synchronization:
    """A mutex per project and purpose."""
    return strict(Synchronization, mutexes=[strict(Mutex, name=f"{name}-{{{{workflow.parameters.project}}}}")])


def artifact(name: str, path: str, key: str, optional: bool = False) -> S3Artifact:
    """A key-only artifact, stored as it is: the repository is the namespace's default."""
    return S3Artifact(name=name, path=path, key=key, archive=NoneArchiveStrategy(), optional=optional or None)


def scratch(name: str, path: str, read_only: bool = False) -> EmptyDirVolume:
    """An emptyDir mounted at `path`."""
    return EmptyDirVolume(name=name, mount_path=path, read_only=read_only or None)


def secrets() -> list[SecretVolume]:
    """What the platform's own steps know and no project's code does; optional, because one machine has none.

    `gpulab-forge` holds the bot's token, `gpulab-registry` a login that may read the project's images.
    """
    return [
        _secret("forge", "gpulab-forge", "token", "token"),
        _secret("registry", "gpulab-registry", ".dockerconfigjson", "config.json"),
    ]


def _secret(name: str, secret: str, key: str, path: str) -> SecretVolume:
    return SecretVolume(
        name=f"secret-{name}",
        secret_name=secret,
        items=[strict(KeyToPath, key=key, path=path)],
        default_mode=0o440,
        optional=True,
        mount_path=f"{SECRETS}/{name}",
        read_only=True,
    )


def executor(settings: Settings) -> ExecutorConfig:
    """Who Argo's own containers are in a pod whose code gets no token.

    Kubernetes makes their token in the Secret `<service account>.service-account-token`; without it the pod waits.
    """
    return strict(ExecutorConfig, service_account_name=settings.executor)


def platform_step(
    settings: Settings, name: str, step: Callable[..., object], title: str, deadline: int, **fields: Any
) -> Script:
    """A template that runs the platform's own code through Hera's runner.

    Args:
        step: a function of `gpulab.steps`.
        title: what the Argo UI shows.
        deadline: `activeDeadlineSeconds`, in seconds.
        fields: other fields of the template; `env` is added to the step's own.
    """
    environment = [Env(name="GPULAB_MESSAGE_FILE", value=MESSAGE_FILE), *fields.pop("env", [])]
    return Script(
        name=name,
        source=step,
        constructor=RunnerScriptConstructor(
            outputs_directory="/tmp/hera-outputs",  # noqa: S108  the pod's own emptyDir
            volume_for_outputs=EmptyDirVolume(name="scratch", mount_path="/tmp"),  # noqa: S108
        ),
        command=["python3"],
        image=settings.steps_image,
        annotations={"workflows.argoproj.io/title": title},
        env_from=[ConfigMapEnvFrom(name=settings.config_map)],
        env=environment,
        termination_message_path=MESSAGE_FILE,
        security_context=RESTRICTED,
        resources=fields.pop("resources", SMALL),
        active_deadline_seconds=deadline,
        retry_strategy=retry_platform_trouble(),
        volumes=secrets(),
        **fields,
    )


def parameters(**values: str) -> list[Parameter]:
    """Arguments by name; Python's `_` stands for `-`."""
    return [Parameter(name=name.replace("_", "-"), value=value) for name, value in values.items()]


def exit_handler(name: str, notify: str, arguments: list[Parameter]) -> Steps:
    """Report only what did not succeed, so that a green run pays no pod for it."""
    with Steps(name=name) as steps:
        Step(name="notify", template=notify, arguments=arguments, when="{{workflow.status}} != Succeeded")
    return steps
