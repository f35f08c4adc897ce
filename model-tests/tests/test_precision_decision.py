"""From errors to a verdict, by table."""

import math

import pytest
from model_tests.precision import bounds
from model_tests.precision.decision import decide
from model_tests.precision.errors import Errors
from model_tests.verdict import Verdict

UNIT = 2.0**-11
GOOD = Errors(nu=1.0, row_max=1.5, kl=1e-6, bias=0.0)


def errors(**changes):
    return Errors(**{**vars(GOOD), **changes})


def decided(real=GOOD, floors=None, reference=(), values=1000, bound=1.5):
    return decide(real, floors or [GOOD] * 5, list(reference), values, UNIT, bound)


@pytest.mark.parametrize(
    ("real", "measure"),
    [
        (errors(nu=1.6), "ratio"),
        (errors(row_max=3.2), "row-max"),
        (errors(kl=5e-6), "kl"),
        (errors(bias=0.6 * UNIT), "bias"),
        (errors(nu=2000.0), "ratio"),
        (errors(nu=math.nan), "ratio"),
    ],
)
def test_a_measure_over_its_bound_fails_and_is_named(real, measure):
    decision = decided(real)
    assert (decision.verdict, decision.measure) == (Verdict.FAIL, measure)
    assert math.isnan(decision.value) or decision.value > decision.bound


@pytest.mark.parametrize(
    "real", [GOOD, errors(nu=1.49), errors(nu=0.1), errors(row_max=2.9), errors(kl=3.9e-6), errors(bias=0.4 * UNIT)]
)
def test_what_is_inside_every_bound_passes_with_its_ratio(real):
    decision = decided(real)
    assert (decision.verdict, decision.measure, decision.value) == (Verdict.PASS, "ratio", real.nu)


def test_the_worst_measure_decides():
    assert decided(errors(nu=1.6, kl=4e-5)).measure == "kl"


def test_few_values_carry_no_verdict():
    assert decided(errors(nu=9.0), values=bounds.FEWEST_VALUES - 1).measure == "few-values"
    assert decided(values=bounds.FEWEST_VALUES).verdict is Verdict.PASS


def test_floors_that_disagree_carry_no_verdict():
    floors = [errors(nu=nu) for nu in (1.0, 1.0, 1.0, 1.0, 1.51)]
    decision = decided(errors(nu=9.0), floors)
    assert (decision.verdict, decision.measure) == (Verdict.INCONCLUSIVE, "unstable")


def test_an_overflowing_floor_carries_no_verdict():
    assert decided(floors=[errors(nu=math.nan)] * 5).measure == "floor-not-finite"


def test_a_floor_of_nothing_is_not_divided_by():
    nothing = Errors(nu=0.0, row_max=0.0, kl=1e-12, bias=0.0)
    assert decided(nothing, [nothing] * 5).verdict is Verdict.PASS
    assert decided(errors(nu=0.4), [nothing] * 5).measure == "below-noise"


@pytest.mark.parametrize(("bias", "verdict"), [(6.0, Verdict.PASS), (9.0, Verdict.FAIL)])
def test_a_bias_may_scatter_as_five_floors_let_expect(bias, verdict):
    floors = [errors(bias=b * UNIT) for b in (-1.0, -0.5, 0.0, 0.5, 1.0)]  # sd 0.79
    assert decided(errors(bias=bias * UNIT), floors).verdict is verdict


def test_a_program_that_loses_more_than_the_reference_must_fails_although_it_meets_its_own_floor():
    decision = decided(reference=[errors(nu=0.3), errors(nu=0.25)])
    assert (decision.verdict, decision.measure) == (Verdict.FAIL, "program")
    assert decided(reference=[errors(nu=0.5), errors(nu=0.25)]).verdict is Verdict.PASS


def test_an_answer_that_has_nothing_of_the_truth_fails_although_it_meets_its_own_floor():
    lost = errors(nu=1.0 / UNIT)
    decision = decided(lost, [lost] * 5)
    assert (decision.verdict, decision.measure) == (Verdict.FAIL, "signal")


@pytest.mark.parametrize(
    ("accelerator", "max_ratio", "bound"),
    [("cpu", None, 1.5), ("t4", None, 2.0), ("cpu", 1.2, 1.2), ("cpu", 5.0, 1.5), ("t4", 5.0, 2.0), ("t4", 1.5, 2.0)],
)
def test_a_project_can_only_tighten_the_bound(accelerator, max_ratio, bound):
    assert bounds.ratio_bound(accelerator, max_ratio) == pytest.approx(bound)
