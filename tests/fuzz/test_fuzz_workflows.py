"""Workflow specs: refused by path, or run to an end by the real controller, with nothing left unexpanded."""

import json
import random
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from generating import HOSTILE, cases, disturbed
from gpulab.engines.local import clock
from gpulab.engines.local.controller import Controller
from gpulab.engines.local.features import select
from gpulab.engines.local.launcher import Pod, Report
from gpulab.engines.local.locks import Mutexes
from gpulab.engines.local.manifest import workflow
from gpulab.engines.protocol import Phase, RunStatus
from gpulab.errors import InputError
from hypothesis import given
from hypothesis import strategies as st

TOY: dict[str, Any] = yaml.safe_load("""
kind: WorkflowTemplate
metadata: {name: toy}
spec:
  entrypoint: main
  onExit: bye
  parallelism: 3
  arguments: {parameters: [{name: project}, {name: items, value: '["a", {"name": "b", "n": 2}]'}]}
  templates:
  - name: main
    parallelism: 2
    dag:
      failFast: false
      tasks:
      - {name: a, template: made, arguments: {parameters: [{name: x, value: "{{workflow.parameters.project}}"}]}}
      - name: b
        template: leaf
        depends: a
        arguments: {parameters: [{name: x, value: "{{tasks.a.outputs.parameters.o}}"}]}
      - name: c
        template: leaf
        depends: a && (b.Succeeded || b.Failed)
        withParam: "{{workflow.parameters.items}}"
        arguments: {parameters: [{name: x, value: "{{item}}"}]}
      - {name: d, template: set, depends: "c.AnySucceeded && !a.Failed", when: "{{tasks.a.status}} == Succeeded"}
  - name: made
    inputs: {parameters: [{name: x, default: y}]}
    container:
      {image: i, command: [echo], args: ["{{inputs.parameters.x}}", "{{pod.name}}"], env: [{name: N, value: v}]}
    retryStrategy:
      limit: "2"
      expression: lastRetry.status == 'Error' || asInt(lastRetry.exitCode) in [3, 4]
      backoff: {duration: 10s, factor: "2", cap: 1m, maxDuration: 1h}
    outputs: {parameters: [{name: o, valueFrom: {path: /out/o, default: none}}]}
  - name: leaf
    inputs: {parameters: [{name: x}]}
    synchronization: {mutexes: [{name: "one-{{workflow.parameters.project}}"}]}
    activeDeadlineSeconds: 60
    script: {image: i, command: [sh], source: "echo {{inputs.parameters.x}}"}
  - name: set
    volumes: [{name: work, emptyDir: {}}]
    containerSet:
      containers:
      - {name: first, image: i, command: [echo], volumeMounts: [{name: work, mountPath: /w}]}
      - name: main
        image: i
        command: [echo]
        dependencies: [first]
        volumeMounts: [{name: work, mountPath: /w, readOnly: true}]
  - name: bye
    steps:
    - - name: n
        template: leaf
        when: "{{workflow.status}} != Succeeded"
        arguments: {parameters: [{name: x, value: "{{workflow.status}}"}]}
""")
RENDERED = [
    yaml.safe_load(files("gpulab").joinpath("rendered", f"{name}.yaml").read_text(encoding="utf-8"))
    for name in ("push", "sync", "verify-promotion")
]
MOST_PASSES = 300

pytestmark = pytest.mark.usefixtures("nothing_executed")


class Pods:
    """Stands in for the launcher: a pod ends as a generator says, and leaves outputs that are as bad as can be."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311  a test repeats
        self.waiting: list[Pod] = []
        self.started: list[str] = []

    def start(self, pod: Pod) -> None:
        assert pod.id not in self.started
        assert "{{" not in json.dumps(pod.template).replace("{{}}", "")
        self.started.append(pod.id)
        self.waiting.append(pod)

    def reports(self) -> list[Report]:
        pod = self.waiting.pop(self.random.randrange(len(self.waiting)))
        phase = self.random.choice([Phase.SUCCEEDED, Phase.SUCCEEDED, Phase.FAILED, Phase.ERROR])
        declared = pod.template.get("outputs", {}).get("parameters", [])
        values = [{"name": one["name"], "value": self.random.choice([*HOSTILE, "ok", "[1]"])} for one in declared]
        outputs = {"exitCode": self.random.choice(["0", "1", "3", "137"]), **({"parameters": values} if values else {})}
        inside = [Report(node, phase) for node in pod.containers.values()]
        return [Report(pod.id, Phase.RUNNING), *inside, Report(pod.id, phase, "said {{x}}", outputs)]


def run_to_the_end(manifest: dict[str, Any], folder: Path, seed: int) -> RunStatus:
    run, pods = RunStatus(manifest["metadata"]["name"], Phase.PENDING), Pods(seed)
    manifest = json.loads(json.dumps(manifest))
    manifest["spec"] = select(manifest["spec"])[0]
    controller = Controller(manifest, run, pods, Mutexes(folder))  # type: ignore[arg-type]
    for _ in range(MOST_PASSES):
        if controller.operate():
            return run
        if controller.tree.changed:
            continue
        if pods.waiting:
            for report in pods.reports():
                controller.apply(report)
        else:
            assert controller.wake_at is not None, "nothing can run any more, and the workflow is not over"
            clock.not_before(controller.wake_at)
    raise AssertionError(f"no end after {MOST_PASSES} passes: {[(n.name, n.phase) for n in run.nodes.values()]}")


def check(template: Any, parameters: dict[str, Any], folder: Path, seed: int) -> None:
    try:
        manifest = workflow("run", template, parameters)
    except InputError as error:
        assert str(error)
        return
    run = run_to_the_end(manifest, folder, seed)
    assert run.phase.fulfilled
    for node in run.nodes.values():
        assert node.phase.fulfilled, node
    if run.phase is Phase.SUCCEEDED and "onExit" not in manifest["spec"]:
        assert run.nodes["run"].phase in (Phase.SUCCEEDED, Phase.SKIPPED)


@pytest.fixture(scope="module")
def locks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("locks")


@cases(1200)
@given(disturbed(TOY), st.sampled_from(["lab", *HOSTILE]), st.integers(0, 2**32))
def test_a_spec_near_a_working_one(locks: Path, template: Any, project: str, seed: int) -> None:
    check(template, {"project": project}, locks, seed)


@cases(200)
@given(st.integers(0, 2**32))
def test_every_outcome_of_pods_leads_to_an_end(locks: Path, seed: int) -> None:
    check(TOY, {"project": "lab"}, locks, seed)


@cases(400)
@given(st.sampled_from(RENDERED).flatmap(disturbed), st.integers(0, 2**32))
def test_a_spec_near_one_of_ours(locks: Path, template: Any, seed: int) -> None:
    parameters = {"project": "lab", "revision": "a" * 40, "ref": "refs/heads/main", "environment": "teaching"}
    declared = RENDERED[0]["spec"]["arguments"]["parameters"] if not isinstance(template, dict) else []
    try:
        declared = template["spec"]["arguments"]["parameters"]
        wanted = {one["name"]: parameters[one["name"]] for one in declared}
    except (KeyError, TypeError):
        wanted = {}
    check(template, wanted, locks, seed)
