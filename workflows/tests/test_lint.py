"""Each rule of the lint, by one small change of a rendered pipeline that must be found."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from gpulab.pipelines.settings import Settings
from gpulab.rendering.lint import lint
from gpulab.rendering.workflows import binding_documents, pipeline_document

Document = dict[str, Any]


@pytest.fixture(scope="module")
def push() -> Document:
    return pipeline_document("push", Settings())


def template(document: Document, name: str) -> Document:
    return next(one for one in document["spec"]["templates"] if one["name"] == name)


def task(document: Document, name: str) -> Document:
    return next(one for one in template(document, "push")["dag"]["tasks"] if one["name"] == name)


def rename_entrypoint(document: Document) -> None:
    document["spec"]["entrypoint"] = "elsewhere"


def rename_exit(document: Document) -> None:
    document["spec"]["onExit"] = "elsewhere"


def call_unknown(document: Document) -> None:
    task(document, "tests")["template"] = "elsewhere"


def wait_for_unknown(document: Document) -> None:
    task(document, "tests")["depends"] = "imgae.Succeeded"


def same_name_twice(document: Document) -> None:
    document["spec"]["templates"].append(copy.deepcopy(template(document, "tests")))


def cycle(document: Document) -> None:
    task(document, "image")["depends"] = "release.Succeeded"


def container_cycle(document: Document) -> None:
    template(document, "verify")["containerSet"]["containers"][0]["dependencies"] = ["main"]


def drop_argument(document: Document) -> None:
    task(document, "tests")["arguments"]["parameters"] = []


def extra_argument(document: Document) -> None:
    task(document, "tests")["arguments"]["parameters"].append({"name": "colour", "value": "red"})


def undeclared_parameter(document: Document) -> None:
    task(document, "image")["arguments"]["parameters"][0]["value"] = "{{workflow.parameters.porject}}"


def output_of_a_stranger(document: Document) -> None:
    task(document, "verify")["arguments"]["parameters"][0]["value"] = "{{tasks.tests.outputs.parameters.image}}"


def unknown_output(document: Document) -> None:
    task(document, "tests")["arguments"]["parameters"][0]["value"] = "{{tasks.image.outputs.parameters.imgae}}"


def item_without_fan_out(document: Document) -> None:
    task(document, "tests")["arguments"]["parameters"][0]["value"] = "{{item}}"


def read_the_aggregate(document: Document) -> None:
    value = "{{tasks.verify.outputs.parameters.result}}"
    task(document, "release")["arguments"]["parameters"][0]["value"] = value


def no_command(document: Document) -> None:
    del template(document, "tests")["container"]["command"]


def no_memory_limit(document: Document) -> None:
    del template(document, "verify")["containerSet"]["containers"][1]["resources"]["limits"]["memory"]


def no_deadline(document: Document) -> None:
    del template(document, "verify")["activeDeadlineSeconds"]


def workflow_deadline(document: Document) -> None:
    document["spec"]["activeDeadlineSeconds"] = 3600


def timeout(document: Document) -> None:
    template(document, "tests")["timeout"] = "5m"


def dag_deadline(document: Document) -> None:
    template(document, "push")["activeDeadlineSeconds"] = 60


def undeclared_volume(document: Document) -> None:
    del template(document, "verify")["volumes"][0]


def unknown_field(document: Document) -> None:
    template(document, "tests")["container"]["securtyContext"] = {}


def event_in_args(document: Document) -> None:
    template(document, "tests")["container"]["args"].append("{{workflow.parameters.ref}}")


def event_in_env(document: Document) -> None:
    template(document, "release")["script"]["env"].append({"name": "REF", "value": "{{inputs.parameters.ref}}"})


CHANGES = {
    rename_entrypoint: "references",
    rename_exit: "references",
    call_unknown: "references",
    wait_for_unknown: "references",
    same_name_twice: "unique-names",
    cycle: "acyclic",
    container_cycle: "acyclic",
    drop_argument: "arguments",
    extra_argument: "arguments",
    undeclared_parameter: "resolvable",
    output_of_a_stranger: "resolvable",
    unknown_output: "resolvable",
    item_without_fan_out: "resolvable",
    read_the_aggregate: "no-aggregated-outputs",
    no_command: "complete-containers",
    no_memory_limit: "complete-containers",
    no_deadline: "deadlines",
    workflow_deadline: "deadlines",
    timeout: "deadlines",
    dag_deadline: "deadlines",
    undeclared_volume: "mounts",
    unknown_field: "known-fields",
    event_in_args: "event-data",
    event_in_env: "event-data",
}


@pytest.mark.parametrize("name", ["push", "sync", "verify-promotion"])
def test_our_own_pipelines_are_clean(name: str) -> None:
    assert [str(problem) for problem in lint(pipeline_document(name, Settings()))] == []


def test_our_own_bindings_are_clean() -> None:
    for document in binding_documents("lab", Settings()):
        assert [str(problem) for problem in lint(document)] == []


@pytest.mark.parametrize(("change", "rule"), CHANGES.items(), ids=lambda one: getattr(one, "__name__", one))
def test_each_mistake_is_found_by_its_rule(push: Document, change: Callable[[Document], None], rule: str) -> None:
    document = copy.deepcopy(push)
    change(document)
    assert rule in {problem.rule for problem in lint(document)}


@pytest.mark.parametrize("pattern", ["^[0-9a-f]{40}$", "^refs/heads/[A-Za-z0-9._/-]{1,200}$"])
def test_a_binding_must_match_what_it_takes(pattern: str) -> None:
    document = copy.deepcopy(binding_documents("lab", Settings())[0])
    document["spec"]["event"]["selector"] = document["spec"]["event"]["selector"].replace(pattern, ".*")
    assert {problem.rule for problem in lint(document)} == {"event-data"}
