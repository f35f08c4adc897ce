"""`lab.toml` as types: what a project declares about its model, and nothing else.

Every key is here, with what it may be (`description`) and an example to type; unknown keys are refused. Rules that
need two keys are in `rules`.
"""

from typing import Annotated, Literal

from pydantic import Field

from gpulab.contract.kinds import (
    IDENTIFIER,
    LARGEST_INT,
    MODULE,
    REPOSITORY,
    ConfigKey,
    ConfigValue,
    Listed,
    Pattern,
    SchemaVersion,
    Size,
    Table,
    Text,
    Unique,
)
from gpulab.names import SLUG


class Project(Table):
    """Who and what."""

    name: Text = Field(description="text of one line, up to 120 characters", examples=["GPU Lab 1"])
    slug: str = Field(
        pattern=rf"^{SLUG}$",
        description="a DNS label: lower-case letters, digits and '-', starting with a letter, up to 40 characters",
        examples=["gpu-lab-1"],
    )
    package: str = Field(
        pattern=r"^[a-z][a-z0-9_]{0,59}$",
        description="a Python package name: lower-case letters, digits and '_', starting with a letter",
        examples=["gpu_lab_1"],
    )
    profile: Literal["student", "production"] = Field(examples=["student"])
    author: Text = Field(description="a pseudonym of one line, up to 120 characters", examples=["blue-heron"])
    course: str = Field(
        pattern=r"^(?:[a-z0-9](?:[-a-z0-9]{0,38}[a-z0-9])?)?$",
        description="\"\" for none, or lower-case letters, digits and '-', up to 40 characters",
        examples=[""],
    )


class Model(Table):
    """What is built and what it is compared with."""

    family: Literal["llama", "resnet50", "custom"] = Field(examples=["llama"])
    factory: str = Field(
        pattern=rf"^{MODULE}:{IDENTIFIER}$",
        description='"module:function" under src/',
        examples=["gpu_lab_1.model:build"],
    )
    reference: str = Field(
        pattern=r"^[a-z0-9_-]{0,40}$", description='"" for none, or a reference of the platform', examples=[""]
    )
    output: Literal["logits", "tensor"] = Field(examples=["logits"])
    seed: int = Field(ge=0, le=LARGEST_INT, description="a whole number from 0 to 2^63 - 1", examples=[0])
    config: dict[ConfigKey, ConfigValue] = Field(
        description="a table of the factory's keyword arguments", examples=[{}]
    )


class Input(Table):
    """One argument of the model's forward, drawn by the platform."""

    name: str = Field(
        pattern=rf"^{IDENTIFIER}$", max_length=60, description="a name of letters, digits and '_'", examples=["tokens"]
    )
    shape: Annotated[tuple[Size, ...], Listed] = Field(
        min_length=1, max_length=8, description="a list of 1 to 8 sizes, the batch first", examples=[[4, 64]]
    )
    dtype: Literal["int64", "float32"] = Field(examples=["int64"])
    low: int | None = Field(
        None, ge=-LARGEST_INT, le=LARGEST_INT, description="a whole number, for int64 only", examples=[0]
    )
    high: int | None = Field(
        None, ge=-LARGEST_INT, le=LARGEST_INT, description="a whole number above low, for int64 only", examples=[512]
    )


class Precision(Table):
    """What is proven, and how much stricter than the platform asks."""

    candidates: Annotated[
        tuple[Literal["float16", "bfloat16", "float16-autocast", "bfloat16-autocast"], ...], Listed, Unique
    ] = Field(min_length=1, description="a list of one or more names", examples=[["float16", "bfloat16"]])
    allow_float32: Annotated[tuple[Pattern, ...], Listed, Unique] = Field(
        max_length=50, description="a list of patterns of module names", examples=[["layers.*.norm"]]
    )
    max_ratio: float | None = Field(
        None, gt=1.0, le=2.0, description="a number above 1 and up to 2.0, the platform's bound", examples=[1.5]
    )


class Benchmark(Table):
    """How often it is timed."""

    iterations: int = Field(ge=1, le=1000, description="a whole number from 1 to 1000", examples=[20])
    max_slowdown: float | None = Field(
        None, gt=0, le=0.05, description="a number above 0 and up to 0.05, the platform's bound", examples=[0.05]
    )
    budget_seconds: int = Field(
        60, ge=10, le=600, description="a whole number from 10 to 600: the longest that timing may take", examples=[60]
    )
    anchor: str = Field(
        "",
        pattern=r"^(?:[0-9a-f]{40})?$",
        description='"" for the first release, or the full id of a commit that was released',
        examples=[""],
    )


class Int8(Table):
    """Which INT8 forms are compared with float32, by what the model is for and never elementwise."""

    schemes: Annotated[tuple[Literal["weight-only", "dynamic"], ...], Listed, Unique] = Field(
        min_length=1, description="a list of one or more names", examples=[["weight-only", "dynamic"]]
    )
    max_loss: float = Field(
        0.05,
        gt=0,
        le=0.5,
        description="a number above 0 and up to 0.5, in the unit of the task's metric",
        examples=[0.05],
    )
    evaluation: str = Field(
        "",
        pattern=rf"^(?:{MODULE}:{IDENTIFIER})?$",
        description='"" for the platform\'s own, or "module:function" under src/',
        examples=[""],
    )


class Hardware(Table):
    """Where it is to run."""

    accelerators: Annotated[tuple[str, ...], Listed, Unique] = Field(
        min_length=1, max_length=16, description="a list of names of the catalogue", examples=[["cpu"]]
    )
    gpus: int = Field(1, ge=1, le=8, description="a whole number from 1 to 8: GPUs per pod", examples=[1])


class Limits(Table):
    """What the student's code may use."""

    timeout_seconds: int = Field(ge=10, le=3000, description="a whole number from 10 to 3000", examples=[300])
    memory_gib: float = Field(ge=0.5, le=512, description="a number from 0.5 to 512", examples=[8.0])


class Serving(Table):
    """What a release starts."""

    module: str = Field(pattern=rf"^{MODULE}$", description="a module under src/", examples=["gpu_lab_1.serve"])
    port: int = Field(
        ge=1024, le=65535, description="a whole number from 1024 to 65535 (lower ports need root)", examples=[8000]
    )
    dtype: Literal["float32", "float16", "bfloat16"] = Field(examples=["float32"])


class Delivery(Table):
    """Where it is pushed to."""

    forge: Literal["local", "gitea", "github"] = Field(examples=["local"])
    image: str = Field(
        pattern=REPOSITORY,
        max_length=200,
        description="an image repository without tag or digest, in lower case",
        examples=["gpulab.local/gpu-lab-1"],
    )


class Lab(Table):
    """The whole of `lab.toml`."""

    schema_version: SchemaVersion = Field(alias="schema", description="1, the one that this gpulab reads", examples=[1])
    project: Project
    model: Model
    inputs: Annotated[tuple[Input, ...], Listed] = Field(
        min_length=1, max_length=16, description="1 to 16 [[inputs]] tables, one per argument of forward"
    )
    precision: Precision
    int8: Int8 | None = None
    benchmark: Benchmark
    hardware: Hardware
    limits: Limits
    serving: Serving
    delivery: Delivery
