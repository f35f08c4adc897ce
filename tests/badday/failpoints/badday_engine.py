"""The toy pipeline: retry with backoff, outputs, artifact, fan-out, container set, release, exit handler."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from gpulab.engines.local.client import LocalEngine
from gpulab.engines.local.settings import EngineSettings

HERE = Path(__file__).parent
IMAGE = "steps:test"
SHELL = """
HOME_=$1; RUN=$2; STEP=$3
if [ "$TOY_POINT" = "step during $STEP" ] && mkdir "$HOME_/killed.lock" 2>/dev/null; then
  echo "$TOY_POINT" > "$HOME_/killed"
  sleep 60 &
  kill -9 "$(cat "$HOME_/runs/$RUN/supervisor.lock")"
  sleep 60
fi
"""
STEPS = {
    "first": 'if ! test -e "$HOME_/$RUN.tried"; then touch "$HOME_/$RUN.tried"; exit 3; fi',
    "made": 'mkdir -p $(dirname /out/items); printf \'["a","b"]\' > /out/items; printf data > /out/data',
    "fan": "true",
    "produce": "echo tensors > /gpulab/work/tensors",
    "judge": 'test "$(cat /gpulab/work/tensors)" = tensors',
    "told": "true",
    "sync": "true",
}


def container(step: str, **more: Any) -> dict[str, Any]:
    """A container that does its work, then writes itself into the ledger."""
    name = more.pop("entry", f"{step} {{{{inputs.parameters.item}}}}" if step == "fan" else step)
    end = f'\necho "$RUN {name}" >> "$HOME_/ledger"'
    command = ["sh", "-euc", SHELL + STEPS[step] + end, "toy"]
    arguments = ["{{workflow.parameters.home}}", "{{workflow.name}}", step]
    return {"image": IMAGE, "command": command, "args": arguments, "env": environment(), **more}


def environment() -> list[dict[str, str]]:
    """The point in a step at which to kill."""
    return [{"name": "TOY_POINT", "value": os.environ.get("TOY_POINT", "")}]


def template(*templates: dict[str, Any], **spec: Any) -> dict[str, Any]:
    # the script is a parameter: the engine takes a checkout in /tmp for a path of the container where the text says it
    parameters = [{"name": "home"}, {"name": "script", "value": str(HERE / "toy.py")}]
    parameters += [{"name": name} for name in spec.pop("parameters", [])]
    base = {"entrypoint": "main", "arguments": {"parameters": parameters}, "templates": [*templates]}
    return {"kind": "ClusterWorkflowTemplate", "metadata": {"name": "toy"}, "spec": {**base, **spec}}


def pipeline() -> dict[str, Any]:
    """Every kind of phase that a run can be killed in."""
    tasks = [
        {"name": "first", "template": "first"},
        {"name": "made", "template": "made", "depends": "first"},
        {
            "name": "fan",
            "template": "fan",
            "depends": "made",
            "withParam": "{{tasks.made.outputs.parameters.items}}",
            "arguments": {"parameters": [{"name": "item", "value": "{{item}}"}]},
        },
        {"name": "pair", "template": "pair", "depends": "made"},
        {"name": "release", "template": "release", "depends": "fan && pair"},
    ]
    work = [{"name": "work", "mountPath": "/gpulab/work"}]
    kept = {"archive": {"none": {}}, "s3": {"key": "toy/{{workflow.name}}/data"}}
    return template(
        {"name": "main", "dag": {"tasks": tasks}},
        {"name": "first", "container": container("first"), "retryStrategy": RETRY},
        {
            "name": "made",
            "container": container("made"),
            "outputs": {
                "parameters": [{"name": "items", "valueFrom": {"path": "/out/items"}}],
                "artifacts": [{"name": "data", "path": "/out/data", **kept}],
            },
        },
        {"name": "fan", "inputs": {"parameters": [{"name": "item"}]}, "container": container("fan")},
        {
            "name": "pair",
            "volumes": [{"name": "work", "emptyDir": {}}],
            "containerSet": {
                "containers": [
                    container("produce", name="produce", volumeMounts=work),
                    container("judge", name="main", volumeMounts=work, dependencies=["produce"]),
                ]
            },
        },
        {"name": "release", "container": python("release")},
        {"name": "exit", "steps": [[{"name": "told", "template": "told"}]]},
        {"name": "told", "container": container("told")},
        onExit="exit",
    )


RETRY = {"limit": "2", "expression": "asInt(lastRetry.exitCode) == 3", "backoff": {"duration": "400ms"}}


def python(step: str) -> dict[str, Any]:
    arguments = ["{{workflow.parameters.script}}", step, "{{workflow.parameters.home}}", "{{workflow.name}}"]
    return {"image": IMAGE, "command": ["python3"], "args": arguments, "env": environment()}


SYNC = template({"name": "main", "container": container("sync", entry="sync {{workflow.parameters.commit}}")},
                parameters=["commit"])  # fmt: skip


def engine(home: Path) -> LocalEngine:
    """The engine of one home; its runs end with the delivery of their events."""
    return LocalEngine(
        EngineSettings(
            home=str(home),
            platform_images=(IMAGE,),
            after_run="toy:after_run",
            after_run_settings={"home": str(home)},
            limit=2,
            grace_seconds=0.3,
        )
    )


if __name__ == "__main__":
    root, run_name = Path(sys.argv[1]), sys.argv[2]
    engine(root).submit(run_name, json.loads(json.dumps(pipeline())), {"home": str(root)})
