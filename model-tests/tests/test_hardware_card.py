"""The catalogue of accelerators, and whether a model would run on them."""

import json
import subprocess
import sys
import tomllib
from importlib.resources import files
from typing import Any

import pytest
from model_tests.hardware import UnknownAcceleratorError, card, catalogue, find

NAMES = [
    "cpu",
    "t4",
    "v100-16",
    "v100-32",
    "a10",
    "l4",
    "a100-40",
    "a100-80",
    "l40s",
    "h100",
    "h200",
    "b200",
    "rtx3090",
    "rtx4090",
]
LLAMA_2_7B = {"vocab_size": 32000, "hidden_size": 4096, "layers": 32, "heads": 32, "kv_heads": 32, "ffn_size": 11008}
STARTER = {"vocab_size": 512, "hidden_size": 128, "layers": 4, "heads": 8, "kv_heads": 2, "ffn_size": 384}


def spec(**changes: Any) -> dict[str, Any]:
    fields = {
        "family": "llama",
        "config": STARTER,
        "inputs": [{"name": "tokens", "shape": [4, 64], "dtype": "int64"}],
        "candidates": ["float16", "bfloat16"],
        "serving_dtype": "float32",
        "memory_gib": 8.0,
    }
    return fields | changes


def row(name: str, **changes: Any) -> dict[str, Any]:
    return card(spec(**changes), [name])[0]


def test_the_catalogue_holds_the_promised_accelerators_with_the_cpu_first() -> None:
    assert list(catalogue()) == NAMES


def test_a_caller_cannot_change_the_catalogue() -> None:
    catalogue().clear()
    assert list(catalogue()) == NAMES


def test_every_row_of_the_file_names_its_source() -> None:
    text = files("model_tests.hardware").joinpath("accelerators.toml").read_text(encoding="utf-8")
    heads = [line for line in text.splitlines() if line.startswith("[")]
    assert len(heads) == len(tomllib.loads(text)) == len(NAMES)
    assert [line for line in heads if len(line.partition("#")[2].strip()) < 10] == []


@pytest.mark.parametrize("name", NAMES)
def test_native_bfloat16_and_lane_follow_from_the_compute_capability(name: str) -> None:
    device = catalogue()[name]
    if not device.compute_capability:
        assert device.lane == "cpu"
        return
    capability = tuple(int(part) for part in device.compute_capability.split("."))
    assert (device.support("bfloat16") == "native") == (capability >= (8, 0))
    assert device.lane == ("current" if capability >= (7, 5) else "legacy")
    assert bool(device.last_driver) == bool(device.last_toolkit) == (device.lane == "legacy")
    assert ("float8_e4m3fn" in device.native_dtypes) == (capability >= (8, 9))
    assert not set(device.native_dtypes) & set(device.emulated_dtypes)


def test_a_t4_has_the_memory_of_its_label_and_not_of_its_name() -> None:
    assert catalogue()["t4"].memory_gib == 15360 / 1024
    assert catalogue()["t4"].product_label == "Tesla-T4"


def test_product_labels_are_what_a_node_label_can_hold_and_are_all_different() -> None:
    labels = [device.product_label for device in catalogue().values() if device.product_label]
    assert len(set(labels)) == len(NAMES) - 1
    assert all(label.replace("-", "").isalnum() and len(label) <= 63 for label in labels)


@pytest.mark.parametrize(
    ("name", "hint"), [("a100", "a100-40 or a100-80"), ("V100", "v100-16 or v100-32"), ("rtx4080", "rtx40")]
)
def test_an_unknown_name_is_answered_with_what_is_allowed_and_what_is_near(name: str, hint: str) -> None:
    with pytest.raises(UnknownAcceleratorError) as raised:
        card(spec(), ["cpu", name])
    message = str(raised.value)
    assert f'"{name}"' in message
    assert all(allowed in message for allowed in NAMES)
    assert hint in message
    assert "\n" not in message


@pytest.mark.parametrize("name", ["", "tpu", "t4; rm -rf /", "T4 "])
def test_names_that_are_near_to_nothing_are_refused_too(name: str) -> None:
    with pytest.raises(UnknownAcceleratorError, match="allowed: cpu"):
        find(name)


def test_the_starter_runs_everywhere() -> None:
    rows = card(spec(), NAMES)
    assert [found["accelerator"] for found in rows] == NAMES
    assert all(found["fits"] and found["largest_batch"] > 1000 for found in rows)


def test_a_row_is_json_and_has_the_keys_of_the_plan() -> None:
    found = row("t4")
    assert json.loads(json.dumps(found)) == found
    assert {"accelerator", "title", "fits", "need_gib", "have_gib", "largest_batch", "dtypes", "lane", "note"} <= set(
        found
    )


def test_llama_2_7b_in_float32_does_not_fit_a_t4_and_the_card_says_that_no_batch_helps() -> None:
    found = row("t4", config=LLAMA_2_7B, inputs=[{"shape": [1, 512]}])
    assert found["fits"] is False
    assert found["largest_batch"] == 0
    assert found["memory"]["float16"]["fits"] is True
    assert "float32 weights alone (25.1 GiB) do not fit" in found["note"]


def test_a_batch_that_is_too_large_is_answered_with_the_one_that_fits() -> None:
    found = row("a100-40", config=LLAMA_2_7B, inputs=[{"shape": [64, 512]}])
    largest = found["largest_batch"]
    assert 0 < largest < 64
    assert f"batch 64 does not fit in float32; the largest that fits is {largest}" in found["note"]
    assert row("a100-40", config=LLAMA_2_7B, inputs=[{"shape": [largest, 512]}])["fits"] is True


@pytest.mark.parametrize("name", ["t4", "v100-16", "v100-32"])
def test_cards_without_bfloat16_say_so_when_bfloat16_is_asked_for(name: str) -> None:
    assert "bfloat16 is emulated and slow" in row(name)["note"]
    assert row(name)["dtypes"] == {"float32": "native", "float16": "native", "bfloat16": "emulated, slow"}
    assert "bfloat16" not in row(name, candidates=["float16", "float16-autocast"])["note"]
    assert "bfloat16" in row(name, candidates=["float16"], serving_dtype="bfloat16")["note"]


def test_a_v100_needs_the_legacy_lane_and_others_do_not() -> None:
    assert row("v100-16")["lane"] == "legacy"
    assert "CUDA 12.6" in row("v100-16")["note"]
    assert "legacy" not in row("t4")["note"]
    assert row("a100-40")["note"] == ""


def test_an_unknown_family_leaves_memory_open_but_still_judges_dtypes() -> None:
    found = row("t4", family="custom", config={})
    assert (found["fits"], found["need_gib"], found["largest_batch"]) == (None, None, None)
    assert "no formula for the model family custom" in found["note"]
    assert found["dtypes"]["bfloat16"] == "emulated, slow"


def test_several_gpus_are_told_one_and_together() -> None:
    alone, two = (row("t4", config=LLAMA_2_7B, inputs=[{"shape": [1, 512]}], gpus=gpus) for gpus in (1, 2))
    assert alone["together"] == {"have_gib": 15.0, "fits": False}
    assert (two["gpus"], two["have_gib"], two["fits"]) == (2, 15.0, False)
    assert two["together"] == {"have_gib": 30.0, "fits": True}
    assert "2 GPUs per pod: 15.0 GiB each, 30.0 GiB together" in two["note"]
    assert "GPUs per pod" not in alone["note"]
    assert row("cpu", gpus=4)["gpus"] == 1


def test_a_resnet_is_estimated() -> None:
    inputs = [{"name": "images", "shape": [32, 3, 224, 224], "dtype": "float32"}]
    found = row("t4", family="resnet50", config={"layers": [3, 4, 6, 3], "width": 64, "classes": 1000}, inputs=inputs)
    assert (found["fits"], found["need_gib"]) == (True, 1.15)


@pytest.mark.parametrize("name", NAMES[1:])
def test_every_gpu_has_peaks_that_are_plausible(name: str) -> None:
    device = catalogue()[name]
    peaks = device.peak_tflops
    assert set(device.native_dtypes) <= set(peaks)
    assert set(peaks) <= {*device.native_dtypes, "tfloat32"}
    assert peaks["float64"] <= peaks["float32"] < peaks["float16"]
    assert device.peak_flops("float32") == peaks["float32"] * 1e12
    assert device.bandwidth == device.bandwidth_gbs * 1e9
    assert device.peak_flops("int4") is None


def test_a_cpu_has_no_peaks_of_its_own() -> None:
    assert catalogue()["cpu"].peak_flops("float32") is None
    assert catalogue()["cpu"].bandwidth is None
    assert len(set(catalogue().values())) == len(NAMES), "rows can be put into sets"


def test_a_cpu_has_the_memory_that_the_project_allows_itself() -> None:
    assert row("cpu", memory_gib=2.5)["have_gib"] == 2.5
    assert row("cpu", memory_gib=0.5)["fits"] is False


def test_the_light_parts_import_no_torch() -> None:
    code = "import sys, model_tests.hardware, model_tests.memory, model_tests.report; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
