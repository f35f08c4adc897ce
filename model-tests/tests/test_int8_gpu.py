"""INT8 on a GPU: torch's own product is used and exact, and the verdicts are the same. Skipped without one."""

import pytest
import torch
from model_tests.int8.product import native, product

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")]


@pytest.mark.parametrize(("n", "k", "m"), [(1, 1, 1), (3, 37, 13), (17, 1040, 8), (256, 512, 24)])
def test_the_product_is_that_of_whole_numbers(n, k, m):
    x, weight = (torch.randint(-127, 128, shape, dtype=torch.int8) for shape in ((n, k), (m, k)))
    assert native(torch.device("cuda"))
    assert torch.equal(product(x.cuda(), weight.cuda()).cpu().long(), x.long() @ weight.long().t())


def test_a_clean_llama_passes_and_an_outlier_fails(student, llama_spec, judged):
    student("llama")
    student("int8")
    int8 = {"schemes": ["weight-only", "dynamic"], "max_loss": 0.05, "evaluation": ""}
    for factory, dynamic in (("student_llama:build", "PASS"), ("student_int8:outlier_channel", "FAIL")):
        spec = llama_spec(factory=factory, candidates=["float16"], int8=int8)
        _, gates = judged(spec, device="cuda", accelerator="h100")
        assert [gates[f"int8/{scheme}"]["verdict"] for scheme in int8["schemes"]] == ["PASS", dynamic]
