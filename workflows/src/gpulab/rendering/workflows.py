"""Render every pipeline to `workflows/rendered/`, and say whether the committed files still match.

The files are part of the package (`workflows/rendered` is a link to them): what the local engine runs is read from
there, not rendered again.
"""

from pathlib import Path
from typing import Any

from gpulab.pipelines import bindings
from gpulab.pipelines.catalogue import PIPELINES
from gpulab.pipelines.settings import Settings
from gpulab.rendering.yaml_text import to_yaml, to_yaml_stream

EXAMPLE_PROJECT = "gpu-lab-1"
"""The project of the rendered example of event bindings; `gpulab project connect` renders each tenant's own."""


def pipeline_document(pipeline: str, settings: Settings) -> dict[str, Any]:
    """One pipeline as the dictionary that Argo reads, `metadata` first."""
    document: dict[str, Any] = PIPELINES[pipeline](settings).to_dict()
    ordered = ("apiVersion", "kind", "metadata", "spec")
    return {key: document[key] for key in ordered} | {k: v for k, v in document.items() if k not in ordered}


def binding_documents(project: str, settings: Settings) -> list[dict[str, Any]]:
    """A project's event bindings as dictionaries."""
    built = bindings.build(settings, project)
    return [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in built]


def render_all(settings: Settings) -> dict[str, str]:
    """Every rendered file by name."""
    files = {f"{name}.yaml": to_yaml(pipeline_document(name, settings)) for name in PIPELINES}
    files["event-bindings.yaml"] = to_yaml_stream(binding_documents(EXAMPLE_PROJECT, settings))
    return files


def drift(folder: Path, settings: Settings) -> list[str]:
    """The files of `folder` that are not what the pipelines render to, missing and foreign ones included."""
    wanted = render_all(settings)
    present = {file.name: file.read_text(encoding="utf-8") for file in folder.glob("*.yaml")}
    return sorted(name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name))


def write_all(folder: Path, settings: Settings) -> list[str]:
    """Write every rendered file and remove what no pipeline renders any more; what changed."""
    changed = drift(folder, settings)
    wanted = render_all(settings)
    folder.mkdir(parents=True, exist_ok=True)
    for name in changed:
        if name in wanted:
            (folder / name).write_text(wanted[name], encoding="utf-8")
        else:
            (folder / name).unlink()
    return changed
