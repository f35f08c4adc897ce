"""Nine claims that people make about LLaMA-2-7B, and what is wrong with each."""

import pytest
from model_tests.hardware import catalogue
from model_tests.speed.plausible import Claim, Device, plausible

PARAMETERS = 6.738e9
GIB, GB = 2**30, 10**9
BYTES = {"float32": 4, "float16": 2, "int8": 1}


def device(name):
    row = catalogue()[name]
    return Device(bandwidth=row.bandwidth, memory=row.memory_gib * GIB)


def tokens(dtype, per_second, used=None):
    """A batch of one: each token reads all weights once."""
    weights = PARAMETERS * BYTES[dtype]
    return Claim(weights=weights, seconds=1 / per_second, read=weights, used=used)


def kinds(claim, on):
    return [doubt.kind for doubt in plausible(claim, on)]


@pytest.mark.parametrize(
    ("claim", "on", "doubts"),
    [
        pytest.param(tokens("float32", 50, 24 * GB), "a100-40", ["less-than-weights"], id="A100 FP32, 24 GB, 50 tok/s"),
        pytest.param(tokens("float16", 90, 12 * GB), "a100-40", ["less-than-weights"], id="A100 FP16, 12 GB, 90 tok/s"),
        pytest.param(tokens("float32", 12), "t4", ["weights-do-not-fit", "above-bandwidth"], id="T4 FP32, 12 tok/s"),
        pytest.param(tokens("float16", 18), "t4", [], id="T4 FP16, 18 tok/s"),
        pytest.param(tokens("int8", 27), "t4", [], id="T4 INT8, 27 tok/s: with fused kernels"),
        pytest.param(Claim(passes=100, different_inputs=1), "t4", ["same-inputs"], id="100 runs with the same text"),
        pytest.param(Claim(quantised_to="float16"), "t4", ["cast-is-not-quantising"], id="FP16 quantisation"),
        pytest.param(
            Claim(checkpointing=True, gradients=False), "t4", ["checkpointing-without-gradients"],
            id="gradient checkpointing against OOM in inference",
        ),
        pytest.param(Claim(ranks=1), "t4", ["one-rank"], id="all_reduce_perf -g 1"),
    ],
)  # fmt: skip
def test_the_nine_claims(claim, on, doubts):
    assert kinds(claim, device(on)) == doubts


@pytest.mark.parametrize(
    ("claim", "doubts"),
    [
        (Claim(quantised_to="int8", checkpointing=True, ranks=8, passes=100, different_inputs=100), []),
        (Claim(seconds=1.0, operations=99.0, read=9.0), []),
        (Claim(seconds=1.0, operations=101.0, read=11.0), ["above-peak", "above-bandwidth"]),
        (Claim(seconds=0.0, operations=1.0), ["above-peak"]),
        (Claim(operations=1e9), []),
        (Claim(weights=1.0, used=2.0), []),
    ],
)
def test_honest_claims_raise_no_doubt(claim, doubts):
    assert kinds(claim, Device(peak=100.0, bandwidth=10.0)) == doubts


def test_a_doubt_says_both_numbers_in_the_unit_of_the_data_sheet():
    (doubt,) = plausible(Claim(seconds=0.5, operations=100.0), Device(peak=100.0))
    assert (doubt.claimed, doubt.limit) == (200.0, 100.0)


def test_what_is_not_known_bounds_nothing():
    assert plausible(Claim(seconds=1e-9, operations=1e30, read=1e30, weights=1e30), Device()) == []
