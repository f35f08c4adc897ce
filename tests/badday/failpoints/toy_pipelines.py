"""Toy pipelines in the place of the real ones, with the real forge, statuses, outbox and events: `STEP …` is one."""

import json
import os
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__)
PARAMETERS = {"push": ("project", "revision", "ref"), "sync": ("project", "revision", "environment")}


def rendered(folder: Path) -> Path:
    """A folder whose `rendered/` holds them."""
    import yaml

    (folder / "rendered").mkdir()
    for name, parameters in PARAMETERS.items():
        text = yaml.safe_dump(template(name, parameters), sort_keys=False)
        (folder / "rendered" / f"{name}.yaml").write_text(text)
    return folder


def template(name: str, parameters: tuple[str, ...]) -> dict[str, Any]:
    from gpulab.pipelines.settings import Settings

    key = "{{workflow.parameters.project}}/{{workflow.name}}/results.json"
    # the script is a parameter: the engine takes a checkout in /tmp for a path of the container where the text says it
    words = ["{{workflow.parameters.script}}", name, "{{workflow.name}}"]
    words += [f"{{{{workflow.parameters.{one}}}}}" for one in parameters]
    step = {
        "name": "main",
        "container": {
            "image": Settings().steps_image,
            "command": ["python3"],
            "args": [*words, "/out/results.json"],
            "envFrom": [{"configMapRef": {"name": Settings().config_map}}],
        },
        "outputs": {
            "artifacts": [{"name": "results", "path": "/out/results.json", "archive": {"none": {}}, "s3": {"key": key}}]
        },
    }
    arguments = {"parameters": [{"name": "script", "value": str(HERE)}, *({"name": one} for one in parameters)]}
    spec = {"entrypoint": "main", "arguments": arguments, "templates": [step]}
    return {"kind": "ClusterWorkflowTemplate", "metadata": {"name": name}, "spec": spec}


def main(step: str, run: str, project: str, revision: str, where: str, out: str) -> None:
    """Say success; a push of main's head is released, as the real step does it."""
    from gpulab.events import PUSH_CHECK, TEACHING, sync_context
    from gpulab.forges.protocol import Status
    from gpulab.platform import from_environment

    forge, home = from_environment(os.environ).forge, Path(os.environ["GPULAB_HOME"])
    note(home, f"begin {run}")
    context = PUSH_CHECK if step == "push" else sync_context(where)
    if step == "push" and forge.head("main") == revision:
        release = json.dumps({"source": revision, "run": run, "project": project}).encode()
        forge.commit(TEACHING, {"release.json": release}, f"Release {revision}", forge.head(TEACHING))
    forge.set_status(revision, Status(context, "success", "PASS", run))
    Path(out).parent.mkdir(parents=True, exist_ok=True)
    Path(out).write_text(json.dumps({"verdict": "PASS", "project": project, "revision": revision}))
    note(home, f"end {run}")


def note(home: Path, line: str) -> None:
    with (home / "ledger").open("a") as file:
        file.write(f"{line}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
