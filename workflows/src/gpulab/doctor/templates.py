"""The pipelines in the cluster are those of this version of gpulab; only the image of the steps is the platform's."""

from collections.abc import Iterator

from gpulab.doctor.check import Check
from gpulab.doctor.compare import PLACEHOLDER, difference
from gpulab.doctor.installation import APPLY, images_in
from gpulab.doctor.snapshot import Snapshot
from gpulab.pipelines.catalogue import PIPELINES
from gpulab.pipelines.settings import Settings
from gpulab.rendering.workflows import pipeline_document


def checks(seen: Snapshot) -> Iterator[Check]:
    """Missing, changed, or as rendered."""
    for pipeline in PIPELINES:
        yield _checked(seen, pipeline, Settings())


def _checked(seen: Snapshot, pipeline: str, settings: Settings) -> Check:
    name = settings.template_name(pipeline)
    title, live = f"pipeline {name}", seen.find("ClusterWorkflowTemplate", name)
    if live is None:
        return Check("FAIL", title, "missing", APPLY)
    rendered = pipeline_document(pipeline, settings)
    if where := difference(live["spec"], rendered["spec"], "spec", exact=True):
        return Check("FAIL", title, f"{where} is not what gpulab {settings.version} renders", f"It was edited. {APPLY}")
    if any(image.startswith(PLACEHOLDER) for image in images_in(live["spec"])):
        fix = "Set gpulab.local/steps in the images of your overlay."
        return Check("FAIL", title, f"its steps have the placeholder image {PLACEHOLDER}steps", fix)
    return Check("PASS", title, f"as gpulab {settings.version} renders it")
