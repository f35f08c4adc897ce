"""The table of outcomes, row by row: every node has the phase that Argo gives it."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from gpulab.engines.local.client import LocalEngine
from gpulab.engines.local.settings import EngineSettings
from gpulab.engines.protocol import RunStatus

TABLE = yaml.safe_load((Path(__file__).parent / "resources/engine/outcomes.yaml").read_text())
IMAGE = "steps:test"


def workflow_template(row: dict[str, Any]) -> dict[str, Any]:
    kind = "dag" if "dag" in row else "steps"
    spec = {
        "entrypoint": "main",
        **{key: row[key] for key in ("onExit", "volumes", "parallelism") if key in row},
        "templates": [{"name": "main", kind: row[kind]}, *TABLE["templates"], *row.get("templates", [])],
    }
    text = yaml.safe_dump({"kind": "WorkflowTemplate", "metadata": {"name": "row"}, "spec": spec})
    return yaml.safe_load(text.replace("IMAGE", IMAGE))


def phases(run: RunStatus) -> dict[str, str]:
    others = [node for node in run.nodes.values() if node.id != run.name]
    return {node.name.removeprefix(run.name).lstrip("."): str(node.phase) for node in others}


@pytest.mark.parametrize("row", TABLE["rows"], ids=lambda row: row["name"])
def test_nodes_end_as_in_argo(row: dict[str, Any], tmp_path: Path) -> None:
    engine = LocalEngine(EngineSettings(str(tmp_path), platform_images=(IMAGE,), limit=2, grace_seconds=1))
    engine.submit("run", workflow_template(row), {})
    assert [*engine.follow("run")][-1].type == "Workflow"
    run = engine.results("run")
    told = "\n".join(f"{node.name}: {node.phase} {node.message}" for node in run.nodes.values())
    assert phases(run) == {name: expected(phase) for name, phase in row["nodes"].items()}, told
    assert run.phase == expected(row["expect"]), f"{run.message}\n{told}"


def expected(phase: str | list[str]) -> str:
    return phase if isinstance(phase, str) else phase[0]


def test_every_row_says_why_and_has_a_name_of_its_own() -> None:
    assert all(row.get("why") for row in TABLE["rows"])
    assert len({row["name"] for row in TABLE["rows"]}) == len(TABLE["rows"])
