"""On a GPU: the same verdicts, with the platform's wider bound. Skipped without one."""

import pytest
import torch

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")]


@pytest.mark.parametrize("settings", [{}, {"STYLE": "functional"}, {"STYLE": "in-place"}, {"OUTLIER": 1000.0}], ids=str)
def test_a_correct_llama_passes_on_a_gpu(student, llama_spec, judged, settings):
    student("llama", **settings)
    result, gates = judged(llama_spec(), device="cuda", accelerator="h100")
    assert {name: gate["why"] for name, gate in gates.items() if gate["verdict"] == "FAIL"} == {}
    assert result["device"]["kind"] == "cuda"
    assert gates["precision/float16"]["bound"] == 2.0


@pytest.mark.parametrize(
    ("fault", "gate"), [("rope", "fp32/right"), ("overflow", "finite/float16"), ("float32-layer", "census/float16")]
)
def test_a_fault_is_found_on_a_gpu(student, llama_spec, judged, fault, gate):
    student("llama", FAULT=fault)
    _, gates = judged(llama_spec(candidates=["float16"]), device="cuda", accelerator="h100")
    assert gates[gate]["verdict"] == "FAIL"


def test_tf32_is_off_and_recorded(student, zoo_spec, judged):
    student("zoo")
    result, gates = judged(
        zoo_spec("conv", [4, 3, 12, 12], {"channels": 16, "blocks": 2}), device="cuda", accelerator="h100"
    )
    assert result["environment"]["tf32"] is False
    assert gates["fp32/self-consistency"]["verdict"] == "PASS"
