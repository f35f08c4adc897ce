"""The statistics of the INT8 gates: what the losses are, and how often a verdict is wrong."""

import math

import pytest
import torch
from model_tests.int8 import rows
from model_tests.int8.decision import ALPHA, FEWEST_TO_PASS, counted, decide, interval, student
from model_tests.int8.losses import Losses, divergence, lost_accuracy, lost_signal
from model_tests.spec import Spec
from model_tests.verdict import Verdict


def of(values, metric="kl", signal=1.0, single=True):
    return Losses(metric, torch.as_tensor(values, dtype=torch.float64), signal, None, single and metric == "accuracy")


# Quantiles of Student's t as printed in tables.
@pytest.mark.parametrize(
    ("alpha", "degrees", "expected"),
    [(0.05, 15, 1.7531), (0.05, 30, 1.6973), (0.025, 31, 2.0395), (0.01, 63, 2.3870), (0.05, 7, 1.8946)],
)
def test_quantiles_are_those_of_the_tables(alpha, degrees, expected):
    assert student(alpha, degrees) == pytest.approx(expected, rel=1e-3)


# From R's binom.test: 0 of 100 [0, 0.0362167], 10 of 100 [0.0490047, 0.1762226], 5 of 50 [0.0332751, 0.2181354].
@pytest.mark.parametrize(
    ("lost", "gained", "count", "low", "high"),
    [(0, 0, 100, -0.036217, 0.036217), (10, 0, 100, 0.0127880, 0.1762226), (5, 5, 50, -0.1848603, 0.1848603)],
)
def test_bounds_of_counts_are_exact(lost, gained, count, low, high):
    found = counted(torch.tensor([1.0] * lost + [-1.0] * gained + [0.0] * (count - lost - gained)), ALPHA)
    assert found == pytest.approx((low, high), abs=2e-6)


DRAWS = {
    "normal": lambda g, shape: 1 + 0.3 * torch.randn(shape, generator=g, dtype=torch.float64),
    "exponential": lambda g, shape: -torch.rand(shape, generator=g, dtype=torch.float64).log(),
    "squares": lambda g, shape: torch.randn(shape, generator=g, dtype=torch.float64) ** 2,
    "lognormal": lambda g, shape: (torch.randn(shape, generator=g, dtype=torch.float64) - 0.5).exp(),
}


@pytest.mark.parametrize("kind", DRAWS)
def test_a_model_at_the_bound_is_seldom_failed_or_passed(kind):
    """Mean loss 1, bound 1: a FAIL and a PASS are both as wrong as can be."""
    runs = 600
    draws = DRAWS[kind](torch.Generator().manual_seed(1), (runs, rows.LOOKS[-1]))
    found = [decide(of(one, signal=8.0), 1.0, rows.LOOKS).verdict for one in draws]
    assert found.count(Verdict.FAIL) / runs <= 0.06
    assert found.count(Verdict.PASS) / runs <= (0.08 if kind == "lognormal" else 0.05)


@pytest.mark.parametrize("kind", DRAWS)
def test_a_loss_that_is_said_to_be_visible_is_seen(kind):
    generator = torch.Generator().manual_seed(2)
    seen = 0
    for _ in range(200):
        draw = DRAWS[kind](generator, (rows.LOOKS[-1],))
        visible = decide(of(draw), 100.0).visible
        seen += decide(of(draw + visible), 1.0).verdict is Verdict.FAIL
    assert seen / 200 >= 0.75


def test_labelled_rows_are_exact_too():
    """A loss of 5 points at a bound of 5 points."""
    runs, count = 400, 300
    draw = (torch.rand((runs, count), generator=torch.Generator().manual_seed(3)) < 0.05).double()
    found = [decide(of(one, "accuracy"), 0.05).verdict for one in draw]
    assert found.count(Verdict.FAIL) / runs <= ALPHA
    assert found.count(Verdict.PASS) / runs <= ALPHA


@pytest.mark.parametrize(("losing", "verdict", "count"), [(224, "FAIL", 64), (128, "PASS", 128), (0, "PASS", 128)])
def test_the_first_look_that_decides_counts_and_a_pass_needs_more_rows_than_a_failure(losing, verdict, count):
    values = torch.tensor([0.0] * (256 - losing) + [10.0] * losing) + 1e-9 * torch.arange(256)
    found = decide(of(values), 1.0, rows.LOOKS)
    assert (found.verdict, found.rows) == (verdict, count)


@pytest.mark.parametrize("metric", ["kl", "signal"])
def test_rows_that_all_lose_nothing_are_too_few_to_pass_by(metric):
    for count in (8, FEWEST_TO_PASS - 1):
        found = decide(of([0.0] * count, metric), 0.05)
        assert (found.verdict, found.few) == (Verdict.INCONCLUSIVE, True)
    assert decide(of([0.0] * FEWEST_TO_PASS, metric), 0.05).verdict is Verdict.PASS


@pytest.mark.parametrize(("share", "loss", "most"), [(0.01, 10.0, 0.34), (0.02, 10.0, 0.12), (0.02, 5.0, 0.12)])
def test_what_a_few_rows_lose_is_passed_only_where_no_row_has_shown_it(share, loss, most):
    """Twice the bound and more, on one row in 50 or 100: 0.99 ** 128 is 28 %, 0.98 ** 128 is 8 %."""
    generator, runs = torch.Generator().manual_seed(4), 300
    draw = torch.rand((runs, rows.LOOKS[-1]), generator=generator, dtype=torch.float64)
    found = [decide(of(torch.where(one < share, loss, 1e-4 * one), signal=5.0), 0.05, rows.LOOKS) for one in draw]
    passed = [one for one in found if one.verdict is Verdict.PASS]
    assert len(passed) / runs <= most
    assert all(one.high < 0.001 for one in passed)


@pytest.mark.parametrize(("count", "verdict"), [(40, "INCONCLUSIVE"), (400, "PASS")])
@pytest.mark.parametrize("lost", [0, 1, 5])
def test_labels_of_many_positions_are_bounded_whether_or_not_one_is_lost(count, verdict, lost):
    """One position of 100 in a few rows, or none: the rows that were not seen may lose as much either way."""
    labels = torch.arange(count * 100).reshape(count, 100) % 5
    narrow = labels.clone()
    narrow[:lost, 0] += 1
    found = decide(lost_accuracy(labels, labels, narrow), 0.05)
    assert found.verdict == verdict
    assert found.high >= counted(torch.zeros(count), 2 * ALPHA)[1]
    assert found.low < 0


def test_equal_rows_of_labels_are_not_certain():
    """All of 32 rows lose 6 points of 5: the next may gain."""
    assert decide(of([0.06] * 32, "accuracy", single=False), 0.05).verdict is Verdict.INCONCLUSIVE
    assert decide(of([0.5] * 32, "accuracy", single=False), 0.05).verdict is Verdict.FAIL


def test_too_few_rows_and_no_signal_are_not_decided():
    assert decide(of([0.0] * 7), 0.05) is None
    assert decide(of([0.0] * 64, signal=0.0), 0.05) is None


@pytest.mark.parametrize(
    ("loss", "signal", "verdict", "bound", "faint"),
    [
        (0.01, 7.0, "PASS", 0.05, False),
        (0.01, 0.1, "PASS", 0.025, False),
        (0.03, 0.1, "INCONCLUSIVE", 0.025, True),
        (0.06, 0.1, "FAIL", 0.05, False),
        (0.06, 7.0, "FAIL", 0.05, False),
    ],
)
def test_what_hardly_tells_anything_must_keep_most_of_it_to_pass(loss, signal, verdict, bound, faint):
    found = decide(of([loss] * 128, signal=signal), 0.05)
    assert (found.verdict, found.bound, found.faint) == (verdict, pytest.approx(bound), faint)


def test_equal_rows_have_no_spread():
    assert interval(torch.full((9,), 0.25), ALPHA) == (0.25, 0.25)


def test_divergence_is_the_expected_rise_of_the_log_likelihood_loss():
    generator = torch.Generator().manual_seed(0)
    wide = torch.randn((40, 3, 6), generator=generator)
    narrow = wide + 0.3 * torch.randn((40, 3, 6), generator=generator)
    labels = torch.multinomial(wide.softmax(-1).reshape(-1, 6), 4000, replacement=True, generator=generator)
    losses = [-x.log_softmax(-1).reshape(-1, 6).gather(1, labels).mean().item() for x in (wide, narrow)]
    found = divergence(wide, narrow)
    assert found.rows.shape == (40,)
    assert found.rows.mean().item() == pytest.approx(losses[1] - losses[0], rel=0.05)


def test_the_signal_of_logits_is_what_they_tell_about_the_input():
    certain = 50 * torch.eye(8)[:, None]
    assert divergence(certain, certain).signal == pytest.approx(math.log(8))
    same = torch.randn(1, 1, 8).expand(32, 4, 8)
    assert divergence(same, same).signal == pytest.approx(0.0, abs=1e-12)
    # Whoever answers the mean, whatever the question, loses all of it.
    mean = certain.softmax(-1).mean(0, keepdim=True).log().expand(8, 1, 8)
    assert divergence(certain, mean).rows.mean().item() == pytest.approx(math.log(8))


def test_lost_signal_is_a_share_of_the_squares():
    wide = torch.randn(400, 50) + 3
    assert lost_signal(wide, torch.zeros(400, 50)).rows.mean().item() == pytest.approx(1.0)
    assert lost_signal(wide, wide + 0.1 * torch.randn(400, 50)).rows.mean().item() == pytest.approx(0.001, rel=0.1)
    assert lost_signal(wide, wide).signal == pytest.approx(0.1, rel=0.05)
    # The mean, whatever the input, loses all that depends on it.
    mean = lost_signal(wide, wide.mean(0).expand(400, 50))
    assert mean.rows.mean().item() == pytest.approx(mean.signal)
    assert lost_signal(wide[:1].expand(32, 50), wide[:1].expand(32, 50)).signal < 1e-12


def test_lost_accuracy_is_paired():
    labels, wide, narrow = torch.tensor([0, 1, 2, 3]), torch.tensor([0, 1, 0, 0]), torch.tensor([0, 0, 2, 0])
    found = lost_accuracy(labels, wide, narrow)
    assert found.rows.tolist() == [0, 1, -1, 0]
    assert found.agreement == 0.5
    assert found.signal == 0.25  # 2 of 4 right, 1 of 4 by always giving one label


def spec(shape, output="logits"):
    inputs = [{"name": "x", "shape": shape, "dtype": "float32"}]
    return Spec.from_dict({"factory": "a:b", "inputs": inputs, "output": output})


@pytest.mark.parametrize(
    ("batch", "row", "expected"),
    [
        (4, (16, 512), [32, 64, 128, 256]),
        (1, (16, 32000), [32, 64, 128]),
        (48, (1, 1000), [48, 96, 144, 288]),
        (4, (16, 128_000), [32, 64, 128]),
        (1, (16, 262_144), [32, 64, 128]),
        (2, (1, 2_000_000), [16]),
    ],
)
def test_rows_are_drawn_up_to_a_size_that_fits(batch, row, expected):
    assert rows.looks(spec([batch, 3]), rows.kept(torch.empty(1, *row), True)[0]) == expected


def test_every_batch_is_another_and_always_the_same():
    one, first = spec([4, 3]), [torch.randn(4, 3)]
    assert rows.batch(one, first, 0)[0] is first[0]
    drawn = [rows.batch(one, first, number)[0] for number in (1, 2, 1)]
    assert torch.equal(drawn[0], drawn[2])
    assert not torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], rows.batch(one, [first[0] + 1], 1)[0])


def test_large_answers_are_thinned_alike_for_every_run():
    x = torch.randn(3, 40, 7)
    kept = rows.kept(x, logits=True)
    assert kept.shape == (3, rows.ROW_POSITIONS, 7)
    assert torch.equal(kept, rows.kept(x.clone(), logits=True))
    assert all(any(torch.equal(row, whole) for whole in x[0]) for row in kept[0])
    assert rows.kept(torch.randn(2, 3, 300, 300), logits=False).shape == (2, rows.ROW_VALUES)
