"""What the local engine refuses: by name and path, everything at once, before the first step."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from gpulab.engines.local.client import LocalEngine
from gpulab.engines.local.features import select
from gpulab.engines.local.references import check
from gpulab.engines.local.settings import EngineSettings
from gpulab.errors import InputError
from hypothesis import given
from hypothesis import strategies as st

RENDERED = Path(__file__).parents[1] / "rendered"
SPEC: dict[str, Any] = yaml.safe_load("""
entrypoint: main
onExit: bye
arguments: {parameters: [{name: project}]}
volumes: [{name: work, emptyDir: {}}]
templates:
- name: main
  dag:
    tasks:
    - {name: a, template: leaf, arguments: {parameters: [{name: x, value: "{{workflow.parameters.project}}"}]}}
    - {name: b, template: leaf, depends: a, arguments: {parameters: [{name: x, value: "{{tasks.a.status}}"}]}}
- name: leaf
  inputs: {parameters: [{name: x}]}
  container: {image: i, command: [echo], args: ["{{inputs.parameters.x}}"]}
- name: set
  inputs: {artifacts: [{name: in, path: /in/file, s3: {key: k}, archive: {none: {}}}]}
  containerSet:
    volumeMounts: [{name: work, mountPath: /in}]
    containers:
    - {name: first, image: i, command: [echo]}
    - {name: main, image: i, command: [echo], dependencies: [first]}
- name: bye
  steps:
  - - name: n
      template: leaf
      when: "{{workflow.status}} != Succeeded"
      arguments: {parameters: [{name: x, value: a}]}
""")
TEMPLATES = {template["name"]: index for index, template in enumerate(SPEC["templates"])}


def problems(spec: Any) -> list[str]:
    selected, refused = select(spec)
    return refused or check(selected)


def changed(path: str, value: Any) -> dict[str, Any]:
    """The spec with one place changed; `templates.leaf` is the template of that name."""
    spec = copy.deepcopy(SPEC)
    place: Any = spec
    *way, last = path.split(".")
    for step in way:
        place = place[key(place, step)]
    place[key(place, last)] = value
    return spec


def key(place: Any, step: str) -> str | int:
    if isinstance(place, dict):
        return step
    return TEMPLATES[step] if step in TEMPLATES else int(step)


def test_the_example_is_supported() -> None:
    assert problems(SPEC) == []


@pytest.mark.parametrize("file", ["push.yaml", "sync.yaml", "verify-promotion.yaml"])
def test_the_committed_pipelines_are_supported(file: str) -> None:
    assert problems(yaml.safe_load((RENDERED / file).read_text())["spec"]) == []


FEATURES = [
    ("hooks", {"exit": {"template": "bye"}}, "spec.hooks"),
    ("activeDeadlineSeconds", 3, "spec.activeDeadlineSeconds"),
    ("templateDefaults", {}, "spec.templateDefaults"),
    ("suspend", True, "spec.suspend"),
    ("retryStrategy", {"limit": 1}, "spec.retryStrategy"),
    ("volumeClaimTemplates", [], "spec.volumeClaimTemplates"),
    ("volumes.0.configMap", {"name": "s"}, "spec.volumes[work].configMap"),
    ("synchronization", {"semaphores": []}, "spec.synchronization.semaphores"),
    ("arguments.parameters.0.valueFrom", {"configMapKeyRef": {}}, "spec.arguments.parameters[project].valueFrom"),
    *(
        (f"templates.leaf.{field}", {}, f"spec.templates[leaf].{field}")
        for field in (
            "suspend",
            "http",
            "plugin",
            "resource",
            "data",
            "daemon",
            "sidecars",
            "initContainers",
            "memoize",
            "timeout",
            "metrics",
            "archiveLocation",
            "hostAliases",
        )
    ),
    ("templates.leaf.failFast", True, "spec.templates[leaf].failFast"),
    *(
        (f"templates.main.dag.tasks.0.{field}", [], f"spec.templates[main].dag.tasks[a].{field}")
        for field in (
            "withItems",
            "withSequence",
            "hooks",
            "onExit",
            "continueOn",
            "templateRef",
            "inline",
            "dependencies",
        )
    ),
    ("templates.main.dag.target", "a", "spec.templates[main].dag.target"),
    ("templates.main.dag.tasks.0.arguments.artifacts", [], "spec.templates[main].dag.tasks[a].arguments.artifacts"),
    ("templates.bye.steps.0.0.withParam", "[]", "spec.templates[bye].steps[0][n].withParam"),
    ("templates.leaf.container.lifecycle", {}, "spec.templates[leaf].container.lifecycle"),
    ("templates.leaf.container.livenessProbe", {}, "spec.templates[leaf].container.livenessProbe"),
    (
        "templates.leaf.container.env",
        [{"name": "T", "valueFrom": {}}],
        "spec.templates[leaf].container.env[T].valueFrom",
    ),
    ("templates.leaf.container.envFrom", [{"secretRef": {}}], "spec.templates[leaf].container.envFrom[0].secretRef"),
    ("templates.set.containerSet.retryStrategy", {}, "spec.templates[set].containerSet.retryStrategy"),
    ("templates.set.inputs.artifacts.0.git", {}, "spec.templates[set].inputs.artifacts[in].git"),
    ("templates.set.inputs.artifacts.0.from", "{{x}}", "spec.templates[set].inputs.artifacts[in].from"),
    ("templates.set.inputs.artifacts.0.s3.bucket", "b", "spec.templates[set].inputs.artifacts[in].s3.bucket"),
    ("templates.set.inputs.artifacts.0.archive", {"tar": {}}, "spec.templates[set].inputs.artifacts[in].archive.tar"),
    ("entirely-unknown", 1, "spec.entirely-unknown"),
]


@pytest.mark.parametrize(("path", "value", "told"), FEATURES, ids=[told for _, _, told in FEATURES])
def test_an_unsupported_field_is_named_with_its_path(path: str, value: Any, told: str) -> None:
    assert problems(changed(path, value)) == [f"{told}: not supported"]


@pytest.mark.parametrize(
    ("secret", "told"),
    [
        ({"secretName": "s"}, "is missing"),
        ({"secretName": "s", "optional": False}, "has to be true"),
    ],
)
def test_a_secret_that_must_be_there_is_refused(secret: dict[str, Any], told: str) -> None:
    assert problems(changed("volumes.0.secret", secret)) == [f"spec.volumes[work].secret.optional: {told}"]


def test_a_secret_that_may_be_missing_is_accepted() -> None:
    assert problems(changed("volumes.0", {"name": "work", "secret": {"secretName": "s", "optional": True}})) == []


MEANINGS = [
    ("entrypoint", "nobody", "spec.entrypoint: there is no template 'nobody'"),
    ("onExit", "nobody", "spec.onExit: there is no template"),
    ("templates.main.dag.tasks.0.template", "nobody", "dag.tasks[a].template: there is no template 'nobody'"),
    ("templates.main.dag.tasks.1.depends", "c", "dag.tasks[b].depends: there is no task 'c'"),
    ("templates.main.dag.tasks.1.depends", "a.Done", "a.Done is no result"),
    ("templates.main.dag.tasks.1.depends", "a.AnySucceeded", "has no withParam"),
    ("templates.main.dag.tasks.0.depends", "b", "the tasks wait for each other"),
    ("templates.main.dag.tasks.1.name", "a", "dag.tasks[a]: the name is used twice"),
    ("templates.main.dag.tasks.1.depends", "", "the task does not depend on 'a'"),
    ("templates.main.dag.tasks.0.when", "{{workflow.name}} =~ x", "dag.tasks[a].when: not supported"),
    ("templates.main.dag.tasks.0.when", "{{workflow.status}} == x", "only known in the exit handler"),
    ("templates.main.dag.tasks.0.when", "{{item}} == x", "{{item}} needs withParam"),
    ("templates.main.dag.tasks.0.template", "main", "templates call each other without end: main -> main"),
    ("templates.leaf.container.args", ["{{=6*7}}"], "container.args[0]: {{=6*7}} is not supported"),
    ("templates.leaf.container.args", ["{{inputs.parameters.z}}"], "{{inputs.parameters.z}} is not declared"),
    ("templates.leaf.container.args", ["{{workflow.parameters.z}}"], "{{workflow.parameters.z}} is not declared"),
    ("templates.leaf.container.command", [], "container.command: is missing"),
    ("templates.leaf.container.volumeMounts", [{"name": "z", "mountPath": "/z"}], "there is no volume 'z'"),
    ("templates.leaf.container.volumeMounts", [{"name": "work", "mountPath": "z"}], "has to be absolute"),
    ("templates.leaf.script", {"image": "i", "command": ["sh"], "source": ""}, "has to be exactly one of"),
    ("templates.leaf.retryStrategy", {"expression": "a.b"}, "retryStrategy.expression: a.b is unknown"),
    ("templates.leaf.retryStrategy", {"limit": "two"}, "retryStrategy.limit: invalid literal"),
    ("templates.leaf.retryStrategy", {"retryPolicy": "OnTransientError"}, "retryPolicy: 'OnTransientError'"),
    ("templates.leaf.retryStrategy", {"backoff": {"duration": "soon"}}, "backoff.duration: 'soon' is no duration"),
    ("templates.leaf.outputs", {"parameters": [{"name": "o"}]}, "valueFrom.path: an absolute path is missing"),
    ("templates.main.activeDeadlineSeconds", 1, "only a template that is a pod"),
    ("templates.set.containerSet.containers.1.dependencies", ["z"], "there is no container 'z'"),
    ("templates.set.containerSet.containers.0.dependencies", ["main"], "they wait for each other"),
    ("templates.set.inputs.artifacts.0.path", "/in/../x", "has to be absolute, without '..'"),
    ("templates.set.inputs.artifacts.0.s3", {}, "s3.key: is missing"),
    ("templates.set.containerSet.volumeMounts.0.readOnly", True, "is read-only, Argo cannot put the artifact there"),
    ("templates.main.parallelism", "2", "parallelism: has to be a whole number, is str '2'"),
    ("arguments.parameters.0.value", 1.5, "has to be a text or a whole number or true or false, is float '1.5'"),
    ("templates", {}, "spec.templates: has to be a list, is dict"),
]


@pytest.mark.parametrize(("path", "value", "told"), MEANINGS, ids=[f"{path}={value}" for path, value, _ in MEANINGS])
def test_what_cannot_work_is_named(path: str, value: Any, told: str) -> None:
    assert any(told in problem for problem in problems(changed(path, value))), problems(changed(path, value))


def test_an_artifact_that_argo_would_not_show_to_the_container_is_refused() -> None:
    spec = changed("templates.set.containerSet.volumeMounts", [])
    spec["templates"][TEMPLATES["set"]]["containerSet"]["containers"][0]["volumeMounts"] = [
        {"name": "work", "mountPath": "/in"}
    ]
    assert "shows it to 'main' alone" in problems(spec)[0]


def test_a_collected_output_of_a_fan_out_is_refused() -> None:
    spec = changed("templates.main.dag.tasks.0.withParam", '["x"]')
    spec["templates"][0]["dag"]["tasks"][1]["arguments"]["parameters"][0]["value"] = "{{tasks.a.outputs.parameters.o}}"
    assert "collected outputs of a fan-out are not supported" in problems(spec)[0]


def test_what_matters_only_in_a_cluster_is_accepted() -> None:
    cluster = {"resources": {"limits": {"nvidia.com/gpu": 1}}, "securityContext": {"a": 1}, "imagePullPolicy": "Always"}
    spec = changed("templates.leaf.container", {**SPEC["templates"][TEMPLATES["leaf"]]["container"], **cluster})
    for field in ("nodeSelector", "tolerations", "affinity", "metadata", "podSpecPatch", "annotations", "executor"):
        spec["templates"][TEMPLATES["leaf"]][field] = {"x": "{{item.x}}"}
    for field in ("podGC", "ttlStrategy", "podMetadata", "workflowMetadata", "serviceAccountName", "archiveLogs"):
        spec[field] = {"x": 1.5}
    assert problems(spec) == []
    assert "resources" not in str(select(spec)[0])


def test_everything_refused_is_told_at_once_and_nothing_starts(tmp_path: Path) -> None:
    spec = changed("hooks", {})
    spec["templates"][TEMPLATES["leaf"]]["timeout"] = "1m"
    engine = LocalEngine(EngineSettings(str(tmp_path)))
    template = {"kind": "WorkflowTemplate", "metadata": {"name": "t"}, "spec": spec}
    with pytest.raises(InputError) as raised:
        engine.submit("run", template, {"projct": "x"})
    told = str(raised.value)
    for part in ("spec.hooks", "spec.templates[leaf].timeout", "parameter project: is missing", "projct: is unknown"):
        assert part in told
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("value", ["{{=6*7}}", "{{workflow.uid}}", "a{{", "{{ x }}"])
def test_a_parameter_that_argo_would_expand_is_refused(value: str, tmp_path: Path) -> None:
    engine = LocalEngine(EngineSettings(str(tmp_path)))
    with pytest.raises(InputError, match=r"parameter project: holds .*, which Argo would expand"):
        engine.submit("run", {"kind": "WorkflowTemplate", "spec": SPEC}, {"project": value})


@pytest.mark.parametrize("kind", ["Workflow", "CronWorkflow", None])
def test_other_kinds_are_refused(kind: str | None, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be run"):
        LocalEngine(EngineSettings(str(tmp_path))).submit("run", {"kind": kind, "spec": SPEC}, {})


GARBAGE: Any = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.just("{{item}}")),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                [
                    "entrypoint",
                    "templates",
                    "name",
                    "dag",
                    "tasks",
                    "steps",
                    "container",
                    "containerSet",
                    "containers",
                    "depends",
                    "when",
                    "template",
                    "arguments",
                    "parameters",
                    "value",
                    "inputs",
                    "outputs",
                    "artifacts",
                    "script",
                    "image",
                    "command",
                    "volumeMounts",
                    "dependencies",
                    "retryStrategy",
                    "backoff",
                    "x",
                ]
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=25,
)


@given(GARBAGE)
def test_any_document_is_refused_or_accepted_without_an_exception(spec: Any) -> None:
    assert all(isinstance(problem, str) for problem in problems(spec))


@given(
    GARBAGE,
    st.sampled_from(["templates.main.dag.tasks.0", "templates.leaf", "templates.set", "templates.bye.steps.0.0"]),
)
def test_garbage_inside_a_good_spec_gives_no_exception(garbage: Any, path: str) -> None:
    assert all(isinstance(problem, str) for problem in problems(changed(path, garbage)))
