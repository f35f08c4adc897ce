"""Render every pipeline to `workflows/rendered/`, and say whether the committed files still match.

The files are part of the package (`workflows/rendered` is a link to them): what the local engine runs is read from
there, not rendered again.
"""

from pathlib import Path
from typing import Any

from gpulab.pipelines import bindings, reconcile
from gpulab.pipelines.catalogue import PIPELINES
from gpulab.pipelines.settings import Settings
from gpulab.rendering.yaml_text import to_yaml, to_yaml_stream

EXAMPLE_PROJECT = "gpu-lab-1"
"""The project of the rendered example of event bindings; `gpulab project connect` renders each tenant's own."""

NODE_NAMES = {("push", "verify"): "verify-{{inputs.parameters.accelerator}}"}
"""How a fan-out's nodes are called in Argo's UI, which else shows the item. Hera's own `annotations` are the pod's."""


def pipeline_document(pipeline: str, settings: Settings) -> dict[str, Any]:
    """One pipeline as the dictionary that Argo reads, `metadata` first."""
    document: dict[str, Any] = PIPELINES[pipeline](settings).to_dict()
    for template in document["spec"]["templates"]:
        if name := NODE_NAMES.get((pipeline, template["name"])):
            template["annotations"] = {"workflows.argoproj.io/display-name": name}
    ordered = ("apiVersion", "kind", "metadata", "spec")
    return {key: document[key] for key in ordered} | {k: v for k, v in document.items() if k not in ordered}


def binding_documents(project: str, settings: Settings) -> list[dict[str, Any]]:
    """A project's event bindings as dictionaries."""
    built = bindings.build(settings, project)
    return [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in built]


def schedule_document(project: str, settings: Settings) -> dict[str, Any]:
    """A project's CronWorkflow, which looks for what was missed."""
    return dict(reconcile.schedule(settings, project).model_dump(mode="json", by_alias=True, exclude_none=True))


def render_all(settings: Settings) -> dict[str, str]:
    """Every rendered file by name."""
    files = {f"{name}.yaml": to_yaml(pipeline_document(name, settings)) for name in PIPELINES}
    files["event-bindings.yaml"] = to_yaml_stream(binding_documents(EXAMPLE_PROJECT, settings))
    files["reconcile-schedule.yaml"] = to_yaml(schedule_document(EXAMPLE_PROJECT, settings))
    return files


def files_of(settings: Settings) -> dict[str, str]:
    """What the rendered folder holds: every rendered file, and the kustomization that `gitops/base` refers to.

    Kustomize takes no file from outside its own folder, but another kustomization from anywhere.
    """
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [f"{name}.yaml" for name in sorted(PIPELINES)],
    }
    return {**render_all(settings), "kustomization.yaml": to_yaml(kustomization)}


def drift(folder: Path, settings: Settings) -> list[str]:
    """The files of `folder` that are not what the pipelines render to, missing and foreign ones included."""
    wanted = files_of(settings)
    present = {file.name: file.read_text(encoding="utf-8") for file in folder.glob("*.yaml")}
    return sorted(name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name))


def write_all(folder: Path, settings: Settings) -> list[str]:
    """Write every rendered file and remove what no pipeline renders any more; what changed."""
    changed = drift(folder, settings)
    wanted = files_of(settings)
    folder.mkdir(parents=True, exist_ok=True)
    for name in changed:
        if name in wanted:
            (folder / name).write_text(wanted[name], encoding="utf-8")
        else:
            (folder / name).unlink()
    return changed
