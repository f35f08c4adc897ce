"""What an upgrade does besides applying the overlay, decided from data: bindings that move, pipelines that stay.

Pipelines are immutable and versioned: a new version stands beside the old one, events start the new one from then on,
and a run in flight ends as it began. Editing a pipeline in place would end such a run in Error.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpulab.doctor.compare import difference

Object = Mapping[str, Any]
PIPELINE = "gpulab/pipeline"
"""The label of every pipeline of ours, whatever its version."""


@dataclass(frozen=True)
class Upgrade:
    """What is to be done.

    Attributes:
        new: pipelines that are not there yet.
        edited: pipelines that would be changed in place: name → runs in flight that this would end.
        moved: objects of tenants that start pipelines, as they should be.
        kept: pipelines of other versions that are in use: name → what uses them.
        unused: pipelines of other versions that nothing uses any more.
    """

    new: Sequence[str]
    edited: Mapping[str, Sequence[str]]
    moved: Sequence[dict[str, Any]]
    kept: Mapping[str, Sequence[str]]
    unused: Sequence[str]


def plan(
    wanted: Iterable[Object],
    live: Iterable[Object],
    runs: Iterable[Object],
    starters: Sequence[Object],
    due: Sequence[dict[str, Any]],
) -> Upgrade:
    """Decide.

    Args:
        wanted: the pipelines of the overlay.
        live: the pipelines of the cluster.
        runs: the Workflows that have not ended.
        starters: the event bindings and CronWorkflows of the cluster.
        due: those of the tenants, as this version makes them.
    """
    new, there = _by_name(wanted), _by_name(live)
    flying: dict[str, list[str]] = {}
    for run in runs:
        flying.setdefault(template_of(run), []).append(path_like(run))
    moved = [one for one in due if _is_changed(one, starters)]
    replaced = {path_like(one) for one in due}
    staying = [one for one in starters if path_like(one) not in replaced]
    old = [name for name, one in there.items() if name not in new and PIPELINE in (one["metadata"].get("labels") or {})]
    users = {
        name: [*flying.get(name, []), *(path_like(one) for one in staying if template_of(one) == name)] for name in old
    }
    return Upgrade(
        new=sorted(new.keys() - there.keys()),
        edited={
            name: flying.get(name, []) for name in sorted(new.keys() & there.keys()) if _edits(new[name], there[name])
        },
        moved=moved,
        kept={name: users[name] for name in sorted(old) if users[name]},
        unused=[name for name in sorted(old) if not users[name]],
    )


def template_of(one: Object) -> str:
    """The pipeline that a Workflow is, a binding starts, or a CronWorkflow starts."""
    spec = one["spec"]
    place = {"WorkflowEventBinding": spec.get("submit"), "CronWorkflow": spec.get("workflowSpec")}.get(
        one["kind"], spec
    )
    return str(((place or {}).get("workflowTemplateRef") or {}).get("name", ""))


def path_like(one: Object) -> str:
    """`namespace/name` with the kind, unless it is a run."""
    name = f"{one['metadata'].get('namespace', '')}/{one['metadata']['name']}"
    return name if one["kind"] == "Workflow" else f"{one['kind']} {name}"


def _edits(wanted: Object, live: Object) -> bool:
    return bool(difference(live["spec"], wanted["spec"], "spec", exact=True))


def _is_changed(due: Object, starters: Sequence[Object]) -> bool:
    live = next((one for one in starters if path_like(one) == path_like(due)), None)
    return live is None or bool(difference(live["spec"], due["spec"], "spec"))


def _by_name(documents: Iterable[Object]) -> dict[str, Object]:
    return {one["metadata"]["name"]: one for one in documents}
