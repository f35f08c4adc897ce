"""`course.toml` as pydantic tables: the template's answers that a course gives, and those it leaves to its students."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from gpulab.contract import known
from gpulab.contract.kinds import REGISTRY, Listed, SchemaVersion, Table, Unique

CATALOGUE = "a name of the catalogue of accelerators"


def _in_the_catalogue(name: str) -> str:
    if name not in known.accelerators():
        raise PydanticCustomError("not_allowed", "not allowed")
    return name


Profile = Literal["student", "production"]
Model = Literal["llama", "resnet50", "custom"]
Accelerator = Annotated[str, AfterValidator(_in_the_catalogue)]


class Named(Table):
    """Which course it is."""

    name: str = Field(
        pattern=r"^[a-z0-9](?:[-a-z0-9]{0,38}[a-z0-9])?$",
        description="lower-case letters, digits and '-', up to 40 characters",
        examples=["gpu-101"],
    )


class Answers(Table):
    """What every project of the course gets; the template's own default for what is left out."""

    profile: Profile = Field(default="student", examples=["student"])
    model: Model = Field(default="llama", examples=["llama"])
    accelerator: Accelerator = Field(default="cpu", description=CATALOGUE, examples=["cpu"])
    forge: Literal["local", "gitea", "github"] = Field(default="local", examples=["local"])
    registry: str = Field(
        default="local",
        pattern=rf"^(?:local|{REGISTRY})$",
        max_length=120,
        description="local, or a host with a path in lower case, such as registry.example.org/team",
        examples=["local"],
    )


class Allowed(Table):
    """What a student may choose instead, by an option of `gpulab new`; nothing else."""

    profile: Annotated[tuple[Profile, ...], Listed, Unique] = Field(default=(), examples=[["student"]])
    model: Annotated[tuple[Model, ...], Listed, Unique] = Field(default=(), examples=[["llama", "resnet50"]])
    accelerator: Annotated[tuple[Accelerator, ...], Listed, Unique] = Field(
        default=(), description=CATALOGUE, examples=[["cpu", "t4"]]
    )


class Course(Table):
    """The whole of `course.toml`."""

    schema_version: SchemaVersion = Field(alias="schema", description="1, the one that this gpulab reads", examples=[1])
    course: Named
    answers: Answers = Answers()
    allowed: Allowed = Allowed()
