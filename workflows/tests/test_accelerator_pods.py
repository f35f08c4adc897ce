import json

import pytest
from gpulab.steps.image import pod, told
from model_tests.hardware import catalogue


def strings(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for one in value.items() for part in one for text in strings(part)]
    if isinstance(value, list):
        return [text for one in value for text in strings(one)]
    return [value] if isinstance(value, str) else []


def test_the_cpu_asks_for_nothing() -> None:
    assert pod("cpu") == {"name": "cpu", "on": "cpu", "podSpecPatch": {}}


@pytest.mark.parametrize("name", sorted(set(catalogue()) - {"cpu"}))
def test_a_gpu_pod_goes_to_its_node_and_only_produce_holds_the_gpu(name: str) -> None:
    patch = pod(name)["podSpecPatch"]
    assert patch["nodeSelector"] == {"nvidia.com/gpu.product": catalogue()[name].product_label}
    assert [one["name"] for one in patch["containers"]] == ["produce"]
    assert patch["containers"][0]["resources"] == {"limits": {"nvidia.com/gpu": "1"}}


def test_a_pod_asks_for_as_many_gpus_as_the_contract_says() -> None:
    limits = pod("a100-80", 4)["podSpecPatch"]["containers"][0]["resources"]["limits"]
    assert limits == {"nvidia.com/gpu": "4"}
    assert pod("cpu", 1)["podSpecPatch"] == {}


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_no_text_of_an_item_needs_escapes(name: str) -> None:
    """Argo passes the strings of an item's fields on as they stand in JSON, escapes included."""
    for text in strings(pod(name)):
        assert json.dumps(text) == f'"{text}"'


def test_a_simulated_accelerator_is_placed_as_the_real_one_and_runs_on_the_cpu() -> None:
    real, simulated = pod("t4"), pod("t4", simulated=True)
    assert (real["on"], simulated["on"]) == ("t4", "cpu")
    assert simulated | {"on": "t4"} == real


def test_the_plan_says_what_is_simulated() -> None:
    plan = {"accelerators": ["cpu", "t4"], "notes": ["one"]}
    assert told(plan, simulated=True)["notes"][1:] == [
        "t4 is simulated here: its pod was placed as there, and ran on the CPU"
    ]
    assert told(plan, simulated=False) is plan
