"""What of the cluster runs."""

from pathlib import Path

from testcluster import parts, processes, ready
from testcluster.layout import Layout
from testcluster.part import Part


def status(layout: Layout) -> list[tuple[str, str]]:
    """Every part with `ready`, `running` (but not ready) or `not running`."""
    stages = parts.stages(layout, lambda name: Path(name))
    return [(part.name, _state(layout, part)) for stage in stages for part in stage]


def _state(layout: Layout, part: Part) -> str:
    found = processes.recorded(layout, part.name)
    if found is None or not found.alive:
        return "not running"
    return "ready" if ready.ready(layout, part) else "running"
