"""What `lab.toml` asks of the verification, as data: "gpulab/spec/v1", read by `model_tests.spec`."""

from typing import Any

from gpulab.contract.lab import Lab

SCHEMA = "gpulab/spec/v1"


def spec_of(lab: Lab) -> dict[str, Any]:
    """The spec of a contract: plain JSON values, the same for the same contract."""
    return {
        "schema": SCHEMA,
        "factory": lab.model.factory,
        "reference": lab.model.reference,
        "output": lab.model.output,
        "family": lab.model.family,
        "config": dict(lab.model.config),
        "seed": lab.model.seed,
        "inputs": [{**entry.model_dump(), "shape": list(entry.shape)} for entry in lab.inputs],
        "candidates": list(lab.precision.candidates),
        "allow_float32": list(lab.precision.allow_float32),
        "max_ratio": lab.precision.max_ratio,
        "int8": {**lab.int8.model_dump(), "schemes": list(lab.int8.schemes)} if lab.int8 else None,
        "iterations": lab.benchmark.iterations,
        "max_slowdown": lab.benchmark.max_slowdown,
        "budget_seconds": lab.benchmark.budget_seconds,
        "gpus": lab.hardware.gpus,
        "timeout_seconds": lab.limits.timeout_seconds,
        "memory_gib": lab.limits.memory_gib,
        "serving_dtype": lab.serving.dtype,
    }
