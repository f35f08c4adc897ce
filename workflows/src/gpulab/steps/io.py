"""Inputs and outputs that steps share."""

from collections.abc import Callable
from typing import Any

from hera.workflows import NoneArchiveStrategy, Parameter, S3Artifact
from hera.workflows.io import Input
from hera.workflows.models import ValueFrom

RUN_PREFIX = "{{workflow.parameters.project}}/{{workflow.name}}"
"""The key under which everything of a run lies: nothing is passed as the fan-in of outputs, because a failed item of
`withParam` vanishes from the aggregate, and when all fail the consumer never starts."""


class EventInput(Input):
    """Which commit, of which project, in which run.

    Attributes:
        project: the project's slug, a constant of the tenant.
        revision: a full commit id, 40 hexadecimal digits.
        ref: the ref that was pushed.
        run: the workflow's name.
    """

    project: str
    revision: str
    ref: str
    run: str


def output(name: str, default: str = "") -> Parameter:
    """An output parameter that resolves even when the step failed before it wrote it."""
    path = f"/tmp/hera-outputs/parameters/{name}"  # noqa: S108  the pod's own emptyDir
    return Parameter(name=name, value_from=ValueFrom(path=path, default=default))


def stored(name: str, key: str, dumpb: Callable[[Any], bytes] | None = None) -> S3Artifact:
    """An output artifact kept under the run's prefix, as it is; optional, for a step that failed before it.

    Args:
        dumpb: how Hera's runner writes it; None for text and JSON.
    """
    key = f"{RUN_PREFIX}/{key}"
    return S3Artifact(name=name, key=key, archive=NoneArchiveStrategy(), optional=True, dumpb=dumpb)


def as_it_is(data: bytes) -> bytes:
    """For an artifact of bytes; None writes no file."""
    return data
