"""When INT8 does not pay: remarks of the hardware card."""

import pytest
from model_tests.hardware import card, catalogue
from model_tests.hardware.notes import sentence

SPEC = {
    "family": "custom",
    "config": {},
    "inputs": [{"name": "tokens", "shape": [4, 64], "dtype": "int64", "low": 0, "high": 9}],
    "candidates": ["float16"],
    "serving_dtype": "float32",
    "memory_gib": 8.0,
}
IMAGES = [{"name": "images", "shape": [4, 3, 64, 64], "dtype": "float32"}]


def keys(name, schemes=None, **changes):
    int8 = {"schemes": schemes, "max_loss": 0.05, "evaluation": ""} if schemes else None
    (row,) = card(SPEC | {"int8": int8} | changes, [name])
    assert all(sentence(note, language) for note in row["notes"] for language in ("en", "zh"))
    return [note["key"] for note in row["notes"] if note["key"].startswith("int8")]


@pytest.mark.parametrize("name", catalogue())
def test_who_does_not_ask_for_int8_reads_nothing_of_it(name):
    assert keys(name) == []


@pytest.mark.parametrize(
    ("name", "expected"), [("cpu", ["int8-cpu"]), ("v100-16", ["int8-no-units"]), ("t4", []), ("h100", [])]
)
def test_dynamic_needs_units_for_int8(name, expected):
    assert keys(name, ["dynamic"]) == expected


def test_small_batches_do_not_fill_the_tensor_cores():
    assert keys("t4", ["dynamic"], inputs=IMAGES) == ["int8-few-rows"]
    assert keys("t4", ["dynamic"], inputs=[IMAGES[0] | {"shape": [32, 3, 64, 64]}]) == []


@pytest.mark.parametrize("name", catalogue())
def test_weight_only_saves_memory_everywhere(name):
    assert keys(name, ["weight-only"]) == ["int8-weight-only"]
