"""`image`: say "pending", plan (refused in seconds, nothing queued), then build by digest."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from hera.workflows.io import Output

from gpulab.contract.finding import ContractError
from gpulab.events import push_context
from gpulab.forges.protocol import Status
from gpulab.platform import from_environment
from gpulab.steps.io import ATTEMPT_PREFIX, EventInput, as_it_is, output, stored
from gpulab.steps.outcome import say, truthful
from gpulab.steps.prepare import Prepared, prepare, refused

CPU = "cpu"


class ImageOutput(Output):
    """What the next steps need; the parameters resolve to nothing when the plan was refused."""

    image: Annotated[str, output("image")]
    seed: Annotated[str, output("seed", "0")]
    accelerators: Annotated[list[dict[str, Any]], output("accelerators", "[]")]
    record: Annotated[dict[str, Any] | None, stored("record", "image.json", ATTEMPT_PREFIX)] = None
    plan: Annotated[dict[str, Any] | None, stored("plan", "plan.json", ATTEMPT_PREFIX)] = None
    baselines: Annotated[bytes | None, stored("baselines", "baselines.tar", ATTEMPT_PREFIX, as_it_is)] = None


@truthful
def image(inputs: EventInput) -> ImageOutput:
    """Plan and build one commit; exit code 2 when its contract is refused, 1 when it does not build."""
    platform = from_environment(os.environ)
    platform.forge.set_status(inputs.revision, Status(push_context(inputs.ref), "pending", "running", inputs.run))
    with TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        try:
            platform.forge.checkout(inputs.revision, source)
        except ContractError as error:
            return to_output(refused(error.problems))
        prepared = prepare(source, inputs.revision, inputs.run, platform.builder, platform.forge)
    return to_output(prepared, platform.simulates_gpus)


def to_output(prepared: Prepared, simulated: bool = False) -> ImageOutput:
    """The step's outputs; a refusal says its first reason.

    Args:
        simulated: see `Platform.simulates_gpus`.
    """
    plan, built = told(prepared.plan or {}, simulated), prepared.record.get("image")
    gpus = plan.get("spec", {}).get("gpus", 1)
    return ImageOutput(
        image=built["reference"] if built else "",
        seed=str(plan.get("seed", 0)),
        accelerators=[pod(name, gpus, simulated) for name in plan.get("accelerators", [])],
        record=prepared.record,
        plan=plan,
        baselines=prepared.baselines,
        exit_code=0 if built else say(prepared.message, int(prepared.record["exit_code"])),
    )


def told(plan: dict[str, Any], simulated: bool) -> dict[str, Any]:
    """The plan, which says of each simulated accelerator that it proves nothing about the real one."""
    names = [name for name in plan.get("accelerators", []) if simulated and name != CPU]
    notes = [f"{name} is simulated here: its pod was placed as there, and ran on the CPU" for name in names]
    return plan | {"notes": [*plan["notes"], *notes]} if notes else plan


def pod(accelerator: str, gpus: int = 1, simulated: bool = False) -> dict[str, Any]:
    """One item of verify's fan-out: the accelerator, what it runs on, and how its pod gets there.

    The patch is an object, which Argo turns into JSON; a text with quotes in it would arrive with backslashes.
    """
    on = CPU if simulated else accelerator
    return {"name": accelerator, "on": on, "podSpecPatch": pod_spec_patch(accelerator, gpus)}


def pod_spec_patch(accelerator: str, gpus: int = 1) -> dict[str, Any]:
    """What the pod of an accelerator asks of the scheduler: nothing for `cpu`.

    Only `produce` asks for GPUs, all of one node, and only in limits (Kubernetes copies them to the requests).
    """
    if accelerator == CPU:
        return {}
    from model_tests.hardware import catalogue

    return {
        "nodeSelector": {"nvidia.com/gpu.product": catalogue()[accelerator].product_label},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "containers": [{"name": "produce", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}],
    }
