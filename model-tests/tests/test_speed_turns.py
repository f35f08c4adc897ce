"""The sides taking turns: real processes that speak the harness's protocol, and every way in which one can go wrong."""

import json
import os
import sys
import threading

import pytest
from model_tests.spec import Spec
from model_tests.speed import decision, turns
from model_tests.speed.blocks import Size, order, size
from model_tests.speed.record import read, side_record
from model_tests.speed.turns import Turns
from model_tests.speed.warmup import LEAST, MOST, fastest, warm

SPEC = {"factory": "m:build", "inputs": [{"name": "x", "shape": [1, 4], "dtype": "float32"}], "budget_seconds": 90}
SIDE = """
import json, os, sys, time
pace, trouble = float(sys.argv[1]), sys.argv[2]
def say(**document):
    os.write(1, json.dumps({"status": "ok", **document}).encode() + b"\\n")
if trouble == "crash":
    os._exit(5)
say()
blocks = 0
for line in sys.stdin:
    command = json.loads(line)
    if command["do"] == "run":
        blocks += command["block"] >= 0
        if trouble == "second-crash" and command["block"] >= 24:
            os._exit(5)
        if trouble == "busy" or (trouble == "busy-at-times" and blocks % 4 == 2):
            os.write(1, b"." * (1 + command["steps"]))
            say(finite=True, own_seconds=0.0)
            continue
        for _ in range(1 + command["steps"]):
            time.sleep(pace * command["repeat"])
            os.write(1, b".")
        if trouble == "late-crash" and blocks == 2:
            os._exit(5)
        if trouble == "silence" and blocks == 2:
            time.sleep(60)
        if trouble == "nonsense":
            os.write(1, b"[1]\\n")
        if trouble == "noise":
            os.write(1, b"x" * 200_000)
        say(finite=trouble != "nan", own_seconds=0.0)
    elif command["do"] == "gemm":
        for _ in range(3):
            time.sleep(0.001)
            os.write(1, b".")
        say(operations=1000)
    elif command["do"] == "load" and trouble == "mistake":
        say(status="input-error", message="build() raised ValueError: no")
    else:
        say(operations=8, weights_bytes=16)
"""


@pytest.fixture
def take_turns(tmp_path, monkeypatch):
    """Run a phase of scripted sides: name -> (seconds of a forward, trouble)."""
    monkeypatch.setattr(decision, "LOOKS", (12, 24))
    started = []

    class Noted(turns.Start):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            started.append(self.sides)

    monkeypatch.setattr(turns, "Start", Noted)

    def run(sides, stop=None, **changes):
        (tmp_path / "side.py").write_text(SIDE)
        commands = {
            name: [sys.executable, str(tmp_path / "side.py"), str(pace), trouble]
            for name, (pace, trouble) in sides.items()
        }
        phase = Turns(Spec.from_dict(SPEC | changes), commands, stop or threading.Event(), 1)
        record = json.loads(json.dumps(phase.run(dict(os.environ), tmp_path / "log.txt")))
        assert all(side.process.returncode is not None for sides in started for side in sides.alive.values())
        return record, read(record)

    return run


def sides(candidate="", again="", teaching="", pace=0.002, older=0.002):
    return {"candidate": (pace, candidate), "again": (pace, again), "teaching": (older, teaching)}


# Long steps: on a busy machine the marks of short ones are read as one.
SLOWER = sides(pace=0.04, older=0.01)


def test_sides_take_turns_until_it_is_decided(take_turns):
    record, measured = take_turns(SLOWER)
    assert measured.ended == "decided"
    assert measured.rounds in range(12, 25)
    assert {len(times) for times in measured.blocks.values()} == {measured.rounds}
    assert decision.compare(measured.blocks, "teaching", 0.05).answer == "regression"
    assert record["sides"]["candidate"]["percentiles"]["50"] > 0.039  # a sleep, less what a mark takes
    assert measured.sides["candidate"].operations == 8
    assert measured.gemm_rate > 0


def test_a_regression_is_looked_at_again_with_fresh_processes_and_fresh_inputs(take_turns):
    record, measured = take_turns(SLOWER | {"anchor": (0.04, "")})
    assert set(measured.second.blocks) == {"candidate", "again", "teaching"}, "only what seems slower"
    assert decision.compare(measured.second.blocks, "teaching", 0.05, 2).answer == "regression"
    assert measured.second.second is None
    assert record["second"]["ended"] == "decided"


def test_what_is_no_slower_is_not_looked_at_again(take_turns):
    assert take_turns(sides(pace=0.002, older=0.03))[1].second is None


def test_a_second_start_that_fails_leaves_the_first(take_turns):
    _, measured = take_turns(SLOWER | {"candidate": (0.04, "second-crash")})
    assert measured.ended == "decided"
    assert decision.compare(measured.blocks, "teaching", 0.05).answer == "regression"
    assert (measured.second.ended, measured.second.rounds) == ("failed", 0)


@pytest.mark.parametrize("trouble", ["crash", "late-crash", "mistake", "nonsense", "noise"])
@pytest.mark.parametrize("who", ["candidate", "again"])
def test_without_both_copies_of_the_candidate_there_is_no_comparison(take_turns, trouble, who):
    _, measured = take_turns(sides(**{who: trouble}))
    assert measured.ended == "failed"
    assert not measured.sides[who].ok
    assert measured.sides[who].message


def test_the_words_of_a_mistake_are_kept(take_turns):
    _, measured = take_turns(sides(candidate="mistake"))
    assert measured.sides["candidate"].message == "build() raised ValueError: no"


def test_a_baseline_that_fails_is_out_and_the_other_is_compared(take_turns):
    _, measured = take_turns(sides(teaching="late-crash") | {"anchor": (0.002, "")})
    assert measured.ended in ("decided", "hopeless", "rounds")
    assert not measured.sides["teaching"].ok
    assert set(measured.blocks) == {"candidate", "again", "anchor"}
    assert measured.rounds >= 12


def test_a_round_in_which_marks_were_read_as_one_counts_for_no_side(take_turns):
    record, measured = take_turns(sides(again="busy-at-times", pace=0.03))
    assert measured.ended in ("decided", "rounds")
    assert 0 < measured.rounds <= 18
    assert {len(times) for times in record["blocks"].values()} == {measured.rounds}


def test_a_machine_on_which_every_mark_is_late_compares_nothing(take_turns):
    _, measured = take_turns(sides("busy", "busy", "busy"))
    assert (measured.ended, measured.rounds) == ("rounds", 0)


def test_numbers_that_are_not_finite_are_said(take_turns):
    _, measured = take_turns(sides(candidate="nan"))
    assert not measured.sides["candidate"].finite
    assert measured.sides["again"].finite


def test_the_budget_ends_a_side_that_does_not_answer(take_turns):
    _, measured = take_turns(sides(again="silence"), budget_seconds=3)
    assert "budget_seconds" in measured.sides["again"].message


def test_the_budget_ends_the_turns_of_a_slow_model(take_turns):
    _, measured = take_turns(sides(pace=0.12, older=0.12), budget_seconds=7)
    assert measured.ended == "budget"
    assert measured.rounds < 12


def test_memory_counts_for_all_sides_together(take_turns, monkeypatch):
    monkeypatch.setattr("model_tests.speed.sides.MEMORY_SECONDS", 0.0)
    monkeypatch.setattr(turns, "GIB", 2**20)
    record, measured = take_turns(sides(), memory_gib=1)
    assert measured.ended == "memory"
    assert "copies used" in record["message"]


def test_a_stop_from_outside_ends_it_at_once(take_turns):
    stop = threading.Event()
    stop.set()
    _, measured = take_turns(sides(), stop=stop)
    assert measured.ended == "stopped"


def test_a_side_that_cannot_be_started_is_no_traceback(tmp_path):
    commands = dict.fromkeys(("candidate", "again", "teaching"), (str(tmp_path / "nothing"),))
    record = Turns(Spec.from_dict(SPEC), commands, threading.Event(), 1).run({}, tmp_path / "log.txt")
    assert record["ended"] == "failed"
    assert "could not be started" in record["message"]


@pytest.mark.parametrize(
    ("forwards", "expected"),
    [
        ([0.008, 0.01], Size(4, 1)),
        ([0.0001, 0.0001], Size(20, 20)),
        ([0.1, 0.2], Size(3, 1)),
        ([0.1, 1.0], Size(1, 1)),
        ([0.0, 0.0], Size(20, 2000)),
    ],
)
def test_blocks_are_long_enough_and_no_longer(forwards, expected):
    assert size(forwards, Spec.from_dict(SPEC)) == expected


def test_the_inputs_of_a_block_fit_in_memory():
    large = [{"name": "x", "shape": [64, 1024, 1024], "dtype": "float32"}]
    assert size([0.0001], Spec.from_dict(SPEC | {"inputs": large})) == Size(1, 1)


def test_every_side_has_every_place_in_the_order():
    orders = [order(["a", "b", "c"], seed=1, number=number) for number in range(60)]
    assert {tuple(one) for one in orders} >= {("a", "b", "c"), ("c", "b", "a"), ("b", "a", "c")}
    assert orders[7] == order(["a", "b", "c"], seed=1, number=7)


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([1.0] * (LEAST - 1), False),
        ([1.0] * LEAST, True),
        ([5.0, 3.0, 2.0] + [1.0] * 17, True),
        ([2.0**-number for number in range(20)], False),
        ([2.0**-number for number in range(MOST)], True),
    ],
)
def test_a_model_is_warm_when_its_times_no_longer_fall(times, expected):
    assert warm(times) is expected


@pytest.mark.parametrize(
    ("rates", "expected", "tried"),
    [
        ({128: 121e9, 512: 885e9, 1024: 850e9}, 512, [128, 512, 1024]),  # bfloat16 with AMX
        ({128: 20e9, 512: 50e9, 1024: 60e9}, 1024, [128, 512, 1024]),
        ({128: 20e9, 512: 10e9, 1024: 60e9}, 128, [128, 512]),
        ({128: 1e8}, 128, [128]),  # emulated
    ],
)
def test_the_product_that_shows_the_peak_is_found_and_takes_no_seconds(rates, expected, tried):
    asked = []

    def seconds(size):
        asked.append(size)
        return 2 * size**3 / rates[size]

    assert fastest((128, 512, 1024), seconds) == expected
    assert asked == tried


def test_latencies_have_the_names_that_vllm_gives_them():
    row = side_record({"status": "ok"}, [0.001 * number for number in range(1, 101)])
    assert row["avg_latency"] == pytest.approx(0.0505)
    assert row["percentiles"]["50"] == pytest.approx(0.0505)
    assert "99" not in row["percentiles"], "a 99th percentile of 100 values is their maximum"
    assert "99" in side_record({}, [0.001] * 1000)["percentiles"]


BLOCKS = {"candidate": [1.0, 2.0], "again": [1.0, 2.0], "teaching": [1.0, 2.0]}


@pytest.mark.parametrize(
    "raw",
    [
        None, [], "x", {}, {"ended": "well"},
        {"ended": "decided", "blocks": {"candidate": [1.0], "again": [1.0, 2.0]}},
    ],
)  # fmt: skip
def test_what_is_no_record_of_a_phase_is_none(raw):
    assert read(raw) is None


@pytest.mark.parametrize(
    "times",
    [
        *("x", [1.0, "x"], [1.0, -1.0], [1.0, None], [0, 1], [True, 1], [1.0] * 201),
        *([1e308, 1.0], [1e299, 1.0], [1e-200, 1.0], [1e-320, 1.0], [10**400, 1], [float("nan"), 1.0]),
    ],
)
def test_times_that_are_none_are_left_out(times):
    found = read({"ended": "decided", "blocks": BLOCKS | {"teaching": times, "stranger": [1.0, 2.0]}})
    assert set(found.blocks) == {"candidate", "again"}


@pytest.mark.parametrize("missing", ["candidate", "again"])
def test_without_the_times_of_both_copies_there_are_none(missing):
    found = read({"ended": "decided", "blocks": {name: times for name, times in BLOCKS.items() if name != missing}})
    assert (found.blocks, found.rounds) == ({}, 0)


@pytest.mark.parametrize("value", [1e-320, 1e-200, 1e299, 1e308, 10**400, float("inf")])
def test_no_number_of_a_record_makes_one_that_json_lacks(value):
    row = {"status": "ok", "avg_latency": value, "num_iters": value, "percentiles": {"50": value}, "operations": value}
    raw = {"ended": "decided", "blocks": BLOCKS, "sides": {"candidate": row}, "seconds": value}
    found = read(raw | {"gemm": {"operations": 1e30, "seconds": value}} | {"second": raw})
    side = found.sides["candidate"]
    numbers = [found.seconds, found.gemm_rate, found.second.seconds, side.operations, *side.latency.values()]
    json.dumps(numbers, allow_nan=False)
    assert all(number is None or abs(number) < 1e60 for number in numbers)


def test_a_side_may_say_anything():
    row = {"status": 1, "message": "a\nb\x00" * 900, "operations": "9", "weights_bytes": -1, "percentiles": {"50": "x"}}
    side = read({"ended": "budget", "sides": {"candidate": row}, "gemm": 3}).sides["candidate"]
    assert not side.ok
    assert "\n" not in side.message
    assert len(side.message) <= 500
    assert side.operations is None
