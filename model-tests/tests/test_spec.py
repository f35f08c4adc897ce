"""The spec: what is read, what is refused, and in which words."""

import json

import pytest
from model_tests.fields import SpecError
from model_tests.spec import Spec

RAW = {
    "schema": "gpulab/spec/v1",
    "factory": "gpu_lab_1.model:build",
    "reference": "llama",
    "output": "logits",
    "family": "llama",
    "config": {"layers": 2},
    "seed": 3,
    "inputs": [{"name": "tokens", "shape": [4, 64], "dtype": "int64", "low": 0, "high": 512}],
    "candidates": ["float16", "bfloat16-autocast"],
    "allow_float32": ["layers.*.norm"],
    "max_ratio": 1.2,
    "int8": {"schemes": ["weight-only"], "max_loss": 0.02, "evaluation": ""},
    "iterations": 5,
    "max_slowdown": 0.03,
    "budget_seconds": 30,
    "gpus": 2,
    "timeout_seconds": 60,
    "memory_gib": 2.0,
    "serving_dtype": "float32",
}
LAB = """
schema = 1
[project]
name = "x"
[model]
family = "llama"
factory = "gpu_lab_1.model:build"
reference = "llama"
output = "logits"
seed = 3
[model.config]
layers = 2
[[inputs]]
name = "tokens"
shape = [4, 64]
dtype = "int64"
low = 0
high = 512
[precision]
candidates = ["float16", "bfloat16-autocast"]
allow_float32 = ["layers.*.norm"]
max_ratio = 1.2
[benchmark]
iterations = 5
max_slowdown = 0.03
budget_seconds = 30
anchor = ""
[hardware]
accelerators = ["t4"]
gpus = 2
[int8]
schemes = ["weight-only"]
max_loss = 0.02
[limits]
timeout_seconds = 60
memory_gib = 2.0
[serving]
module = "gpu_lab_1.serve"
dtype = "float32"
"""


def changed(**changes):
    return {**RAW, **changes}


def test_a_spec_survives_its_json_form():
    spec = Spec.from_dict(RAW)
    assert Spec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec
    assert spec.to_dict() == RAW


def test_what_an_older_plan_does_not_say_has_its_default():
    older = {key: value for key, value in RAW.items() if key not in ("int8", "max_slowdown", "budget_seconds", "gpus")}
    spec = Spec.from_dict(older)
    assert (spec.int8, spec.max_slowdown, spec.budget_seconds, spec.gpus) == (None, None, 60, 1)


def test_lab_toml_and_the_json_form_say_the_same(tmp_path):
    lab = tmp_path / "lab.toml"
    lab.write_text(LAB)
    assert Spec.from_lab(lab) == Spec.from_dict(RAW)


def test_a_plan_carries_its_spec(tmp_path):
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"schema": "gpulab/plan/v1", "spec": RAW}))
    assert Spec.from_file(plan) == Spec.from_dict(RAW)


@pytest.mark.parametrize(
    ("key", "changes"),
    [
        ("spec.surprise", {"surprise": 1}),
        ("schema", {"schema": "gpulab/spec/v2"}),
        ("factory", {"factory": "model.build"}),
        ("factory", {"factory": "os;import sys:build"}),
        ("reference", {"reference": "gpt2"}),
        ("output", {"output": "Logits"}),
        ("config", {"config": {"not a name": 1}}),
        ("seed", {"seed": -1}),
        ("seed", {"seed": True}),
        ("inputs", {"inputs": []}),
        ("inputs", {"inputs": RAW["inputs"] * 2}),
        ("inputs[0].dtype", {"inputs": [{"name": "x", "shape": [4], "dtype": "float16"}]}),
        ("inputs[0].shape", {"inputs": [{"name": "x", "shape": [], "dtype": "float32"}]}),
        ("inputs[0].shape", {"inputs": [{"name": "x", "shape": [4, 0], "dtype": "float32"}]}),
        ("inputs[0].shape", {"inputs": [{"name": "x", "shape": [2**20, 2**20], "dtype": "float32"}]}),
        ("inputs[0].high", {"inputs": [{"name": "x", "shape": [4], "dtype": "int64", "low": 5, "high": 5}]}),
        ("inputs[0].low", {"inputs": [{"name": "x", "shape": [4], "dtype": "float32", "low": 0, "high": 1}]}),
        ("inputs[0].name", {"inputs": [{"name": "a\nb", "shape": [4], "dtype": "float32"}]}),
        ("candidates", {"candidates": []}),
        ("candidates", {"candidates": ["float16", "float16"]}),
        ("candidates", {"candidates": ["fp16"]}),
        ("allow_float32", {"allow_float32": "layers"}),
        ("max_ratio", {"max_ratio": 0.5}),
        ("iterations", {"iterations": 0}),
        ("timeout_seconds", {"timeout_seconds": float("nan")}),
        ("memory_gib", {"memory_gib": "8"}),
        ("serving_dtype", {"serving_dtype": "float64"}),
    ],
)
def test_a_wrong_value_is_refused_by_its_key(key, changes):
    with pytest.raises(SpecError) as caught:
        Spec.from_dict(changed(**changes))
    assert caught.value.key == key
    assert "allowed:" in str(caught.value)


def test_batches_that_differ_are_refused():
    inputs = [{"name": n, "shape": [b, 2], "dtype": "float32"} for n, b in (("a", 2), ("b", 3))]
    with pytest.raises(SpecError, match="the same batch"):
        Spec.from_dict(changed(inputs=inputs))


@pytest.mark.parametrize("raw", [None, [], "text", 3])
def test_what_is_no_table_is_refused(raw):
    with pytest.raises(SpecError):
        Spec.from_dict(raw)


def test_an_error_in_lab_toml_names_the_file_and_the_table(tmp_path):
    lab = tmp_path / "lab.toml"
    lab.write_text(LAB.replace('"float16", ', '"fp16", '))
    with pytest.raises(SpecError, match=r"lab\.toml: precision\.candidates: found 'fp16'; allowed: one of \"float16\""):
        Spec.from_lab(lab)


@pytest.mark.parametrize("text", ["not = [toml", "", "[model]\n"])
def test_a_lab_toml_that_is_none_is_an_error_in_words(tmp_path, text):
    lab = tmp_path / "lab.toml"
    lab.write_text(text)
    with pytest.raises(SpecError, match=r"^lab\.toml: "):
        Spec.from_lab(lab)


def test_a_missing_spec_file_is_an_error_in_words(tmp_path):
    with pytest.raises(SpecError, match="a JSON file with a spec"):
        Spec.from_file(tmp_path / "none.json")
