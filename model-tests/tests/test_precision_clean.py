"""Correct models never fail: of every kind, in every candidate, also where other judges give false verdicts."""

import pytest
from model_tests.precision import bounds

CONFIG = {"vocab_size": 128, "hidden_size": 32, "layers": 2, "heads": 4, "kv_heads": 2, "ffn_size": 64, "context": 32}
LLAMAS = {
    "small": ({}, {}),
    "one layer": ({"layers": 1}, {}),
    "deep": ({"layers": 6}, {}),
    "wide": ({"hidden_size": 64, "ffn_size": 160, "heads": 8, "kv_heads": 8}, {}),
    "one head": ({"heads": 1, "kv_heads": 1}, {}),
    "outlier channel 100": ({}, {"OUTLIER": 100.0}),
    "outlier channel 1000": ({}, {"OUTLIER": 1000.0}),
    "everything in half": ({}, {"STYLE": "half"}),
    "torch's own norm": ({}, {"STYLE": "functional"}),
    "in-place residuals": ({}, {"STYLE": "in-place"}),
}
ZOO = {
    "mlp, 16 classes": ("mlp", [32, 64], {"width": 64, "classes": 16}, "logits"),
    "mlp, 4 classes": ("mlp", [64, 64], {"width": 64, "classes": 4}, "logits"),
    "mlp, one value": ("mlp", [256, 32], {"width": 32, "classes": 1}, "tensor"),
    "in-place residual": ("in_place", [16, 32], {"layers": 8, "width": 32, "classes": 32}, "logits"),
    "layer scale 0.1": ("layer_scale", [32, 32], {"layers": 6, "width": 32, "scale": 0.1}, "tensor"),
    "layer scale 0.01": ("layer_scale", [32, 32], {"layers": 6, "width": 32, "scale": 0.01}, "tensor"),
    "batch norm": ("conv", [8, 3, 12, 12], {"channels": 16, "blocks": 2}, "logits"),
    "encoder": ("encoder", [2, 16, 32], {"layers": 2, "width": 32}, "tensor"),
    "in-place chain": ("chain", [16, 32], {"steps": 16, "width": 32}, "tensor"),
    "cache": ("cache", [2, 16, 32], {"width": 32, "context": 24}, "tensor"),
    "lstm": ("recurrent", [2, 16, 32], {"width": 32}, "tensor"),
}


def failures(gates):
    return {name: gate["why"] for name, gate in gates.items() if gate["verdict"] == "FAIL"}


def undecided(gates):
    return {name: gate["key"] for name, gate in gates.items() if gate["verdict"] == "INCONCLUSIVE"}


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("config", "settings"), LLAMAS.values(), ids=LLAMAS.keys())
def test_a_correct_llama_passes_every_gate(student, llama_spec, judged, config, settings, seed):
    student("llama", **settings)
    result, gates = judged(llama_spec(config=CONFIG | config, seed=seed), seed)
    assert failures(gates) == {}
    assert undecided(gates) == {}
    assert (result["verdict"], result["exit_code"]) == ("PASS", 0)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("case", ZOO.values(), ids=ZOO.keys())
def test_a_correct_model_of_another_kind_passes_or_says_why_not(student, zoo_spec, judged, case, seed):
    student("zoo")
    _, gates = judged(zoo_spec(*case, seed=seed), seed)
    assert failures(gates) == {}
    # LSTM: this CPU may have no kernel for it under float16 autocast.
    assert set(undecided(gates).values()) <= ({"candidate.unsupported"} if case[0] == "recurrent" else set())


@pytest.mark.parametrize("seed", range(2))
def test_real_and_floor_agree_closely_where_nothing_is_wrong(student, llama_spec, judged, seed):
    student("llama")
    _, gates = judged(llama_spec(seed=seed), seed)
    for name, gate in gates.items():
        if name.startswith("precision/"):
            assert 0.8 < gate["value"] < 1.2
            assert gate["params"]["floor_over_reference"] < bounds.PROGRAM_RATIO / 2


def test_a_small_output_is_inconclusive_and_not_a_failure(student, zoo_spec, judged):
    student("zoo")
    result, gates = judged(zoo_spec("mlp", [8, 64], {"width": 64, "classes": 10}, "logits"))
    assert (result["verdict"], result["exit_code"]) == ("INCONCLUSIVE", 0)
    assert set(undecided(gates).values()) == {"precision.few-values"}


def test_routing_by_tiny_differences_is_never_a_failure(student, zoo_spec, judged):
    student("zoo")
    for seed in range(3):
        _, gates = judged(zoo_spec("routed", [64, 32], {"width": 32}, seed=seed, candidates=["float16"]), seed)
        assert failures(gates) == {}
