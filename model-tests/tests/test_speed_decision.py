"""The decision about speed on simulated hosts: restless ones raise no false alarm, and a real slowdown is found."""

import math
import random

import pytest
from model_tests.speed.decision import (
    AGAIN,
    ALPHA,
    CANDIDATE,
    LEAST_ROUNDS,
    LOOKS,
    MAX_SLOWDOWN,
    bound_of,
    compare,
    confirmed,
)
from model_tests.speed.intervals import interval

SIDES = (CANDIDATE, AGAIN, "teaching")


def quiet(draw):
    while True:
        yield math.exp(draw.gauss(0, 0.01))


def noisy(draw):
    while True:
        yield math.exp(draw.gauss(0, 0.06))


def drifting(draw):
    """30 % slower over the run, with waves."""
    for number, factor in enumerate(noisy(draw)):
        yield factor * (1 + number / 300 + 0.1 * math.sin(number / 17))


def bursting(draw):
    """A neighbour that takes the processor for some blocks in a row."""
    left = 0
    for factor in noisy(draw):
        left = left - 1 if left else draw.randint(2, 12) if draw.random() < 0.04 else 0
        yield factor * (draw.uniform(1.3, 3) if left else 1)


def two_clocks(draw):
    """A clock that steps by 25 % and stays there for some ten blocks."""
    high = False
    for factor in noisy(draw):
        high = high != (draw.random() < 0.1)
        yield factor * (1.25 if high else 1)


def sluggish(draw):
    """Noise that remembers: lag-1 autocorrelation 0.9."""
    mood = 0.0
    while True:
        mood = 0.9 * mood + draw.gauss(0, 0.04)
        yield math.exp(mood + draw.gauss(0, 0.03))


HOSTS = (quiet, noisy, drifting, bursting, two_clocks, sluggish)
MODERATE = (noisy, drifting, sluggish)


def run(host, slowdown, seed, layout=0.0):
    """One run as `turns` does it; a regression is looked at again with fresh processes."""
    first = start(host, slowdown, seed, layout)
    return confirmed(first, start(host, slowdown, seed + 10_000, layout) if first.answer == "regression" else None)


def start(host, slowdown, seed, layout=0.0):
    """One start of all sides; `layout`: what a process keeps for its life (where its memory lies)."""
    draw = random.Random(seed)  # noqa: S311 - a simulation
    factors = host(draw)
    true = {name: math.exp(draw.gauss(0, layout)) * (1 if name == "teaching" else 1 + slowdown) for name in SIDES}
    blocks = {name: [] for name in SIDES}
    for rounds in LOOKS:
        while len(blocks["teaching"]) < rounds:
            for name in draw.sample(SIDES, len(SIDES)):
                blocks[name].append(0.01 * true[name] * next(factors))
        found = compare(blocks, "teaching", MAX_SLOWDOWN)
        if found.decided or found.hopeless(MAX_SLOWDOWN, rounds, LOOKS[-1]):
            break
    return found


def test_no_host_raises_more_than_one_false_alarm_in_a_hundred():
    runs = [run(host, 0.0, seed, layout=0.015) for host in HOSTS for seed in range(40)]
    assert sum(found.answer == "regression" for found in runs) <= 0.01 * len(runs)


@pytest.mark.parametrize("layout", [0.03, 0.05, 0.08])
def test_what_a_process_keeps_for_its_life_is_seldom_called_a_regression(layout):
    """One start of all sides cannot tell it from a slowdown: 5 to 20 in a hundred of the same code."""
    runs = [run(quiet, 0.0, seed, layout) for seed in range(100)]
    assert sum(found.answer == "regression" for found in runs) <= 5
    assert layout == 0.03 or sum(found.answer == "unconfirmed" for found in runs) >= 3


def test_only_a_regression_needs_a_second_start_and_needs_one_that_says_the_same():
    slow, same = start(quiet, 0.3, 1), start(quiet, 0.0, 1)
    assert (slow.answer, same.answer) == ("regression", "passed")
    assert confirmed(same, None) == confirmed(same, slow) == same
    assert confirmed(slow, slow) == slow
    for second in (None, same):
        assert confirmed(slow, second).answer == "unconfirmed"


def test_a_slowdown_at_the_bound_is_no_regression():
    runs = [run(host, MAX_SLOWDOWN, seed) for host in (quiet, sluggish) for seed in range(20)]
    assert sum(found.answer == "regression" for found in runs) == 0


def test_ten_percent_are_found_nine_times_in_ten_on_moderately_noisy_hosts():
    runs = [run(host, 0.10, seed) for host in MODERATE for seed in range(25)]
    assert sum(found.answer == "regression" for found in runs) >= 0.9 * len(runs)


def test_an_unchanged_model_passes_on_a_quiet_host_at_the_first_look():
    found = run(quiet, 0.0, 1)
    assert found.answer == "passed"
    assert found.ratio.low < 1 < found.ratio.high < 1.05
    assert 0.05 < found.ratio.detectable(MAX_SLOWDOWN) < 0.15


@pytest.mark.parametrize(("slowdown", "apart"), [(-0.15, 1.2), (0.03, 1.1), (0.9, 4.0)])
def test_copies_that_differ_by_more_than_the_candidate_does_decide_nothing(slowdown, apart):
    true = {CANDIDATE: 1 + slowdown, AGAIN: (1 + slowdown) * apart, "teaching": 1}
    draw = random.Random(1)  # noqa: S311 - a simulation
    blocks = {name: [time * next(quiet(draw)) for _ in range(60)] for name, time in true.items()}
    assert compare(blocks, "teaching", MAX_SLOWDOWN).answer == "restless"


def test_a_run_that_cannot_be_decided_in_time_gives_up():
    draw = random.Random(1)  # noqa: S311 - a simulation
    blocks = {name: [math.exp(draw.gauss(0, 0.4)) for _ in range(12)] for name in SIDES}
    found = compare(blocks, "teaching", MAX_SLOWDOWN)
    assert found.hopeless(MAX_SLOWDOWN, 12, 40)
    assert not found.hopeless(MAX_SLOWDOWN, 12, 10_000)


def test_every_look_and_every_baseline_is_paid_for():
    blocks = {name: [1.0 + 0.01 * (number % 3) for number in range(12)] for name in SIDES}
    one, three = (compare(blocks, "teaching", MAX_SLOWDOWN, baselines=count) for count in (1, 3))
    assert one.ratio.tail * len(LOOKS) == pytest.approx(ALPHA)
    assert three.ratio.tail * len(LOOKS) * 3 == pytest.approx(ALPHA)


def test_the_same_blocks_give_the_same_answer():
    assert run(bursting, 0.1, 3) == run(bursting, 0.1, 3)


def test_too_few_rounds_are_refused():
    blocks = dict.fromkeys(SIDES, [1.0] * (LEAST_ROUNDS - 1))
    with pytest.raises(ValueError, match="at least 12"):
        compare(blocks, "teaching", MAX_SLOWDOWN)


@pytest.mark.parametrize(("asked", "bound"), [(None, 0.05), (0.02, 0.02), (0.5, 0.05)])
def test_a_project_can_only_tighten_the_bound(asked, bound):
    assert bound_of(asked) == bound


def test_an_interval_narrows_with_the_rounds_and_widens_for_moods_that_last():
    draw = random.Random(1)  # noqa: S311 - a simulation
    alone = [math.exp(draw.gauss(0, 0.1)) for _ in range(640)]
    in_moods = [ratio for ratio in alone[:160] for _ in range(4)]
    widths = [math.log(one.high / one.low) for one in (interval(r, 0.001) for r in (alone[:40], alone, in_moods))]
    assert widths[1] < 0.5 * widths[0]
    assert widths[2] > 1.2 * widths[1]
