"""Planted faults are found by the right gate, and the module is named."""

import pytest

HALVES = ("float16", "bfloat16")
EVERY = (*HALVES, "float16-autocast", "bfloat16-autocast")
# Fault -> (gates that must fail, module that each must name).
FAULTS = {
    "rope": (["fp32/right"], "layers.0.attention.rope"),
    "epsilon": (["fp32/right"], "layers.0.attention_norm"),
    "no-mask": (["fp32/right"], "layers.0.attention"),
    "weight": (["fp32/right"], "layers.0.feed_forward.down"),
    "skipped-layer": (["fp32/right"], "layers.1"),
    "tf32": (["fp32/right"], "layers.0.feed_forward"),
    "nan": (["fp32/finite"], "layers.0.attention"),
    "overflow": (["finite/float16", "finite/float16-autocast"], "layers.0.feed_forward"),
    "zero-division": (["finite/float16", "finite/float16-autocast"], "layers.0.feed_forward"),
    "float32-layer": ([f"census/{name}" for name in EVERY], "layers.1.feed_forward.gate"),
    "half-buffers": (["census/float32", "census/float16-autocast"], "layers.0.attention.rope.cos"),
    "bfloat16": (["census/float16", "census/float32"], "layers.0.feed_forward"),
    "rope-in-half": ([f"precision/{name}" for name in EVERY], "layers.0.attention.rope"),
    "weight-in-half": (["precision/float16", "precision/float16-autocast"], "layers.0.feed_forward"),
}


def failed(gates):
    return {name for name, gate in gates.items() if gate["verdict"] == "FAIL"}


@pytest.mark.parametrize(("expected", "module"), FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_fails_its_gate_and_is_named(student, llama_spec, judged, request, expected, module):
    student("llama", FAULT=request.node.callspec.id)
    result, gates = judged(llama_spec())
    assert set(expected) <= failed(gates)
    for name in expected:
        assert gates[name]["module"] == module
        assert module in gates[name]["why"]
        assert gates[name]["change"]
    assert (result["verdict"], result["exit_code"]) == ("FAIL", 1)


@pytest.mark.parametrize("fault", ["rope", "epsilon", "weight", "no-mask", "skipped-layer", "sign"])
def test_a_wrong_formula_is_not_blamed_on_the_precision(student, llama_spec, judged, fault):
    student("llama", FAULT=fault)
    _, gates = judged(llama_spec())
    assert failed(gates) == {"fp32/right"}


def test_overflow_is_told_from_other_infinities(student, llama_spec, judged):
    for fault, key in (("overflow", "finite.overflow"), ("zero-division", "finite.nan")):
        student("llama", FAULT=fault)
        _, gates = judged(llama_spec(candidates=["float16"]))
        assert gates["finite/float16"]["key"] == key
        assert gates["precision/float16"]["verdict"] == "NOT APPLICABLE"
        student("llama")


@pytest.mark.parametrize("reference", ["llama", ""])
def test_an_overflow_that_ends_as_finite_zeros_is_found(student, llama_spec, judged, reference):
    """The norm's squares overflow, its output is 0, and the model's own floor is just as bad: real / floor is 1.00."""
    student("llama", STYLE="half", OUTLIER=1000.0)
    _, gates = judged(llama_spec(reference=reference, candidates=["float16"]))
    gate = gates["precision/float16"]
    assert gates["finite/float16"]["verdict"] == "PASS"
    assert gate["params"]["ratio"] == pytest.approx(1.0, abs=0.01)
    assert (gate["verdict"], gate["module"]) == ("FAIL", "layers.0.attention_norm")


@pytest.mark.parametrize("fault", ["rope", "epsilon", "weight"])
def test_without_a_reference_a_wrong_constant_is_not_found(student, llama_spec, judged, fault):
    """A listed limit, held here so that the documentation stays true."""
    student("llama", FAULT=fault)
    _, gates = judged(llama_spec(reference="", candidates=["float16"]))
    assert gates["fp32/self-consistency"]["verdict"] == "PASS"


@pytest.mark.parametrize("fault", ["tf32", "bfloat16"])
def test_without_a_reference_a_baseline_that_is_not_float32_is_found(student, llama_spec, judged, fault):
    student("llama", FAULT=fault)
    _, gates = judged(llama_spec(reference="", candidates=["bfloat16"]))
    assert {"fp32/self-consistency", "census/float32"} & failed(gates)


@pytest.mark.parametrize("half_only", [False, True])
@pytest.mark.parametrize("tf32", [False, True])
@pytest.mark.parametrize("offset", [0.0, 50.0, 100.0, 150.0])
def test_without_a_reference_bad_conditioning_hides_no_tf32(student, zoo_spec, judged, offset, tf32, half_only):
    """The bound follows what the model's own floor loses: honestly, or made large in half precision alone."""
    student("zoo")
    config = {"width": 64, "offset": offset, "tf32": tf32, "half_only": half_only}
    _, gates = judged(zoo_spec("offset", [32, 64], config, candidates=["float16"]))
    assert gates["fp32/self-consistency"]["verdict"] == ("FAIL" if tf32 else "PASS")


def test_a_declared_float32_layer_is_allowed(student, llama_spec, judged):
    student("llama", FAULT="float32-layer")
    result, _ = judged(llama_spec(allow_float32=["layers.1.feed_forward"]))
    assert result["verdict"] == "PASS"


def test_float32_layers_that_leave_too_little_to_prove_are_refused_although_declared(student, llama_spec, judged):
    """Both feed-forwards: 6 of 17 products, where a quarter may stay in float32. By any pattern that covers them."""
    student("llama", FAULT="float32-layers")
    for patterns in (["layers"], ["*ayers*"], ["layers.?.feed_forward"]):
        _, gates = judged(llama_spec(candidates=["float16"], allow_float32=patterns))
        census = gates["census/float16"]
        assert (census["verdict"], census["key"]) == ("FAIL", "census.exempt")
        assert (census["value"], census["bound"]) == (6.0, 4.0)
        assert "6 of 17 matrix products do not run in float16" in census["why"]
        assert gates["census/float32"]["verdict"] == "PASS"


def test_a_candidate_that_raises_fails_alone(student, llama_spec, judged):
    student("llama", FAULT="raises-in-half")
    _, gates = judged(llama_spec(candidates=["float16", "float16-autocast"]))
    assert failed(gates) == {"precision/float16"}
    assert "dtype" in gates["precision/float16"]["why"]
    assert gates["census/float16"]["verdict"] == "NOT APPLICABLE"
    assert gates["precision/float16-autocast"]["verdict"] == "PASS"
