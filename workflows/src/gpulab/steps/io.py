"""Inputs and outputs that steps share."""

from collections.abc import Callable
from typing import Any

from hera.workflows import NoneArchiveStrategy, Parameter, S3Artifact
from hera.workflows.io import Input
from hera.workflows.models import ValueFrom

RUN_PREFIX = "{{workflow.parameters.project}}/{{workflow.name}}"
"""The key under which a run's record, report and golden answers lie, which releases refer to by the run's name."""

ATTEMPT_PREFIX = f"{RUN_PREFIX}/{{{{workflow.uid}}}}"
"""The key under which its steps leave what the last one judges.

Nothing is passed as the fan-in of outputs: a failed item of `withParam` vanishes from the aggregate, and when all fail
the consumer never starts. And nothing is found there that another workflow left: a run's name is free again when Argo
has removed it, and an event can be delivered once more after that.
"""


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


def stored(name: str, key: str, prefix: str, dumpb: Callable[[Any], bytes] | None = None) -> S3Artifact:
    """An output artifact, as it is; optional, for a step that failed before it.

    Args:
        key: below the prefix.
        prefix: RUN_PREFIX or ATTEMPT_PREFIX.
        dumpb: how Hera's runner writes it; None for text and JSON.
    """
    key = f"{prefix}/{key}"
    return S3Artifact(name=name, key=key, archive=NoneArchiveStrategy(), optional=True, dumpb=dumpb)


def as_it_is(data: bytes) -> bytes:
    """For an artifact of bytes; None writes no file."""
    return data
