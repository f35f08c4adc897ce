"""The schemas of the result files, their document and the samples."""

import importlib.util
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError
from referencing import Registry, Resource

RESOURCES = Path(__file__).parent / "resources"
SCHEMA_FOLDER = Path(str(files("model_tests.report"))) / "schema"
SCHEMAS = {path.name.split(".")[0]: json.loads(path.read_text()) for path in sorted(SCHEMA_FOLDER.glob("*.json"))}
DOCUMENT = Path(__file__).parents[2] / "docs" / "results-schema.md"


def validator(name: str) -> Draft202012Validator:
    registry: Registry[Any] = Registry().with_resources((s["$id"], Resource.from_contents(s)) for s in SCHEMAS.values())
    return Draft202012Validator(SCHEMAS[name], registry=registry)


def sample(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESOURCES / f"results_{name}.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_each_schema_is_a_schema(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[name])


@pytest.mark.parametrize("path", sorted(RESOURCES.glob("results_*.json")), ids=lambda path: path.stem)
def test_every_sample_follows_its_schema(path: Path) -> None:
    results = json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    validator("results").validate(results)
    for verified in results["verify"].values():
        validator("verify").validate(verified)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema",), "gpulab/results/v2"),
        (("verdict",), "pass"),
        (("exit_code",), 4),
        (("revision",), "main"),
        (("ref",), "refs/heads/$(TOKEN)"),
        (("gates", 0, "verdict"), "MAYBE"),
        (("gates", 0, "surprise"), 1),
        (("gates", 3, "shape"), [4, -1]),
        (("verify", "cpu", "verdict"), "NOT APPLICABLE"),
        (("verify", "cpu", "modules", "float16", 0, "nonfinite"), -1),
        (("verify", "cpu", "census", "float16", "gemm"), {"float16": "many"}),
        (("plan", "hardware", 0, "dtypes"), {"float16": "fast"}),
        (("image", "digest"), "sha256:latest"),
    ],
    ids=str,
)
def test_a_schema_refuses_what_it_should(path: tuple[Any, ...], value: Any) -> None:
    results: Any = sample("passing")
    parent = results
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = value
    with pytest.raises(ValidationError):
        validator("results").validate(results)


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_the_document_names_every_key_of_the_schemas(name: str) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")

    def keys(schema: Any) -> set[str]:
        if isinstance(schema, list):
            return set().union(*(keys(item) for item in schema)) if schema else set()
        if not isinstance(schema, dict):
            return set()
        own = set(schema["properties"]) if isinstance(schema.get("properties"), dict) else set()
        return own.union(*(keys(item) for item in schema.values()))

    assert {key for key in keys(SCHEMAS[name]) if f"`{key}`" not in text} == set()


def test_the_samples_are_what_their_maker_writes(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("make_samples", RESOURCES / "make_samples.py")
    assert spec
    assert spec.loader
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    maker.main(tmp_path)
    for path in sorted(RESOURCES.glob("results_*.json")):
        assert (tmp_path / path.name).read_text() == path.read_text(), f"run python {RESOURCES / 'make_samples.py'}"
    assert len(list(tmp_path.iterdir())) == len(list(RESOURCES.glob("results_*.json"))) == 11
