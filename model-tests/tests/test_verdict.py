"""The verdict algebra."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_tests.verdict import Gate, Verdict, combine, exit_code

GATES = st.lists(
    st.builds(Gate, st.sampled_from(["smoke", "fp32/right", "precision/a"]), st.sampled_from(list(Verdict)))
)


@given(GATES, st.lists(st.sampled_from(["smoke", "fp32/*", "precision/*"])))
def test_a_failed_gate_always_fails_the_run(gates, required):
    failed = any(gate.verdict is Verdict.FAIL for gate in gates)
    assert (combine(gates, required) is Verdict.FAIL) == failed


@given(GATES)
def test_what_is_not_required_never_blocks(gates):
    passing = [gate for gate in gates if gate.verdict is not Verdict.FAIL]
    assert combine(passing) is Verdict.PASS


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        (Verdict.PASS, Verdict.PASS),
        (Verdict.NOT_APPLICABLE, Verdict.PASS),
        (Verdict.INCONCLUSIVE, Verdict.INCONCLUSIVE),
        (Verdict.FAIL, Verdict.FAIL),
    ],
)
def test_a_required_gate_must_be_decided(verdict, expected):
    assert combine([Gate("precision/float16", verdict)], ["precision/*"]) is expected


def test_a_required_gate_that_is_missing_is_inconclusive():
    assert combine([Gate("smoke", Verdict.PASS)], ["smoke", "fp32/*"]) is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("verdict", "cause", "code"),
    [
        (Verdict.PASS, "gate", 0),
        (Verdict.INCONCLUSIVE, "gate", 0),
        (Verdict.FAIL, "gate", 1),
        (Verdict.FAIL, "input", 2),
        (Verdict.INCONCLUSIVE, "platform", 3),
    ],
)
def test_the_exit_code_tells_whose_turn_it_is(verdict, cause, code):
    assert exit_code(verdict, cause) == code


def test_a_gate_survives_its_json_form_and_the_accelerator_that_gpulab_adds():
    gate = Gate(
        "precision/a", Verdict.FAIL, 2.0, 1.5, "x", "layers.1", (4, 8), "precision.ratio", {"n": 1}, "why", "do"
    )
    raw = json.loads(json.dumps(gate.to_dict())) | {"accelerator": "cpu"}
    assert Gate.from_dict(raw) == gate
