"""What runs left behind, read with care: a file of another form is named in words, never a traceback."""

from collections.abc import Mapping
from typing import Any

from gpulab.cli.project import Project
from gpulab.errors import PlatformError
from gpulab.files import read_json

SCHEMA = "gpulab/results/v1"
TEXTS = ("name", "verdict", "unit", "why", "change")
NUMBERS = ("value", "bound")
NOTHING = object()
"""There is no file; `null` in one is another thing."""


def results_of(project: Project, run: str) -> dict[str, Any] | None:
    """A run's `results.json`; None when it left none.

    Raises:
        PlatformError: naming the file, when it is not what a run writes.
    """
    path = project.stored(run, "results.json")
    document = read_json(path, default=NOTHING)
    if document is NOTHING:
        return None
    wrong = shape(document)
    if wrong:
        again = "Move it away, then: gpulab run"
        raise PlatformError(f"{path} is not what a run writes ({wrong}), so it says nothing. {again}")
    return dict(document)


def shape(document: Any) -> str | None:
    """What is wrong with the form of a `results.json`, as far as it is read here; None when nothing is."""
    if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
        return f"schema is not {SCHEMA}"
    for key, kind in (("verdict", str), ("summary", str), ("exit_code", int), ("gates", list)):
        if not isinstance(document.get(key), kind):
            return f"{key} is no {kind.__name__}"
    return next((wrong for gate in document["gates"] if (wrong := _gate(gate))), None)


def _gate(gate: Any) -> str | None:
    if not isinstance(gate, Mapping):
        return "a gate is no object"
    texts = [key for key in TEXTS if not isinstance(gate.get(key), str)]
    numbers = [key for key in NUMBERS if key not in gate or not isinstance(gate[key], int | float | None)]
    wrong = [*texts, *numbers]
    return f"{wrong[0]} of a gate is missing or of another type" if wrong else None
