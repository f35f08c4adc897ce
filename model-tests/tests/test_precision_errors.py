"""The measures of one output against a truth."""

import math

import pytest
import torch
from model_tests.precision.errors import gain_bias, mean_kl, measure, nu, relative_l2, row_max

UNIT = 2.0**-11


@pytest.fixture
def truth():
    return torch.randn(8, 128, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_nu_counts_roundoffs_the_same_in_fp16_and_bf16(truth):
    assert nu(truth.half(), truth, 2.0**-11) == pytest.approx(nu(truth.bfloat16(), truth, 2.0**-8), rel=0.1)


def test_an_equal_answer_has_no_error(truth):
    errors = measure(truth, truth, UNIT, logits=True)
    assert (errors.nu, errors.row_max, errors.bias) == (0.0, 0.0, pytest.approx(0.0, abs=1e-12))


def test_zero_against_zero_is_no_error_and_something_against_zero_is_infinite():
    zero = torch.zeros(4)
    assert relative_l2(zero, zero) == 0.0
    assert relative_l2(zero + 1, zero) == math.inf
    assert gain_bias(zero + 1, zero) == 0.0


def test_a_factor_on_the_output_is_its_gain_bias(truth):
    assert gain_bias(truth * 1.01, truth) == pytest.approx(0.01)


def test_one_bad_row_shows_in_the_row_maximum_and_hardly_in_nu(truth):
    answer = truth.clone()
    answer[3] *= 1.5
    assert row_max(answer, truth, UNIT) == pytest.approx(0.5 / UNIT)
    assert nu(answer, truth, UNIT) < 0.5 / UNIT / 2


def test_rows_of_few_values_have_no_row_maximum(truth):
    assert row_max(truth[:, :8], truth[:, :8], UNIT) is None


def test_short_last_dimensions_are_measured_by_sample(truth):
    images = truth.reshape(8, 4, 8, 4)
    answer = images.clone()
    answer[2] *= 1.5
    assert row_max(answer, images, UNIT) == pytest.approx(0.5 / UNIT)


def test_an_empty_row_is_measured_against_the_others(truth):
    truth[5] = 0.0
    answer = truth.clone()
    answer[5] += 1e-6
    assert math.isfinite(row_max(answer, truth, UNIT))


def test_kl_is_zero_for_a_shift_and_grows_with_a_real_difference(truth):
    assert mean_kl(truth + 3.0, truth) == pytest.approx(mean_kl(truth, truth))
    assert mean_kl(truth * 1.1, truth) > 1e-4


def test_only_logits_have_a_kl(truth):
    assert measure(truth, truth, UNIT, logits=False).kl is None
