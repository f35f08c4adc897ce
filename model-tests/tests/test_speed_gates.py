"""The gates of speed: what each outcome of the turns says, and that nothing but a proven slowdown fails."""

import random

import pytest
import torch
from model_tests.judging.result import REQUIRED, Result
from model_tests.judging.speed import speed_gates
from model_tests.judging.speed_trust import Trial, least_work
from model_tests.messages import LANGUAGES, catalogue, explain
from model_tests.speed.baselines import REASONS, Baseline
from model_tests.speed.record import read

TEACHING = Baseline("teaching", "a" * 40, factory="m:build")
ANCHOR = Baseline("anchor", "b" * 40, factory="m:build")
GEMM = {"operations": 1e9, "seconds": 0.01}


def blocks(rounds=60, noise=0.01, **factors):
    draw = random.Random(1)  # noqa: S311 - a simulation
    true = {"candidate": 1.0, "again": 1.0, "teaching": 1.0, **factors}
    return {
        name: [0.01 * factor * (1 + draw.uniform(-noise, noise)) for _ in range(rounds)]
        for name, factor in true.items()
    }


def record(times, ended="decided", message="", **sides):
    ok = {"status": "ok", "message": "", "finite": True, "operations": 1e6, "weights_bytes": 64}
    rows = {name: ok | {"avg_latency": 0.01, "num_iters": 60, "percentiles": {"50": 0.01}} for name in times}
    start = {"ended": ended, "message": message, "seconds": 9.0, "gemm": GEMM, "sides": rows | sides, "blocks": times}
    return start | {"second": start}


@pytest.fixture
def gates(tmp_path, llama_spec):
    """Return the gates of a record by name, and the table; `answer` is what the timed copies said in the end."""

    def make(raw, baselines=(TEACHING,), answer=0.0, accelerator="cpu", **changes):
        spec = llama_spec(**changes)
        for name, shift in (("float32", 0.0), ("speed-candidate", 0.0), ("speed-again", answer)):
            torch.save({"output": torch.ones(2, 24, 128) + shift, "calls": []}, tmp_path / f"{name}.pt")
        found, table = speed_gates(Trial(spec, accelerator, tmp_path, read(raw), allowed=1e-5), baselines)
        return {one.name: one for one in found}, table

    return make


def outcome(gate):
    return str(gate.verdict), gate.key


def test_an_unchanged_model_passes_with_its_interval_and_what_it_could_have_found(gates):
    found, table = gates(record(blocks()))
    gate = found["speed/teaching"]
    assert outcome(gate) == ("PASS", "speed.passed")
    assert gate.value == pytest.approx(1.0, abs=0.01)
    assert gate.bound == 1.05
    assert gate.params["low"] < gate.value < gate.params["high"]
    assert 5 < gate.params["detectable"] < 15
    assert "aaaaaaaaaaaa" in gate.why
    assert table["comparisons"]["teaching"]["answer"] == "passed"
    assert table["sides"]["candidate"]["avg_latency"] == 0.01
    assert table["sides"]["teaching"]["commit"] == "a" * 40


def test_a_slowdown_fails_and_says_by_how_much_at_least(gates):
    found, _ = gates(record(blocks(candidate=1.2, again=1.2)))
    gate = found["speed/teaching"]
    assert outcome(gate) == ("FAIL", "speed.regression")
    assert 1.1 < gate.params["low"] < 1.2
    assert "git diff aaaaaaaaaaaa -- src" in gate.change


@pytest.mark.parametrize(
    "second",
    [
        None,
        record(blocks()),
        record(blocks(rounds=11, candidate=1.2, again=1.2)),
        record({"candidate": [0.01] * 12, "again": [0.01] * 12}),
    ],
    ids=["none", "as fast", "few rounds", "without the baseline"],
)
def test_a_slowdown_that_fresh_processes_do_not_show_blocks_nothing(gates, second):
    found, table = gates(record(blocks(candidate=1.2, again=1.2)) | {"second": second})
    assert outcome(found["speed/teaching"]) == ("INCONCLUSIVE", "speed.unconfirmed")
    assert table["comparisons"]["teaching"]["answer"] == "unconfirmed"
    assert "?" not in found["speed/teaching"].why


def test_a_project_that_allows_less_is_held_to_it(gates):
    times = blocks(candidate=1.03, again=1.03, rounds=200)
    assert outcome(gates(record(times))[0]["speed/teaching"]) == ("PASS", "speed.passed")
    gate = gates(record(times), max_slowdown=0.01)[0]["speed/teaching"]
    assert outcome(gate) == ("FAIL", "speed.regression")
    assert gate.bound == 1.01


def test_faster_passes(gates):
    assert outcome(gates(record(blocks(candidate=0.5, again=0.5)))[0]["speed/teaching"]) == ("PASS", "speed.passed")


def test_the_a_a_is_information(gates):
    found, _ = gates(record(blocks()))
    assert outcome(found["speed/a-a"]) == ("NOT APPLICABLE", "speed.information")


FAILED = {"status": "failed", "message": "it broke"}


@pytest.mark.parametrize(
    ("raw", "key"),
    [
        (record(blocks(noise=0.5), ended="hopeless"), "speed.undecided"),
        (record(blocks(again=1.5)), "speed.restless"),
        (record(blocks(rounds=11), ended="budget"), "speed.too-slow"),
        (record({}, ended="budget", candidate={"status": "ok"}, again={"status": "ok"}), "speed.too-slow"),
        (record(blocks(), ended="memory", message="3 copies used 9.0 GiB"), "speed.not-measured"),
        (record(blocks(), ended="stopped"), "speed.not-measured"),
        ({"ended": "failed", "message": "KeyError: x"}, "speed.not-measured"),
        ({"ended": "well"}, "speed.not-measured"),
        (None, "speed.not-measured"),
        (record(blocks(), ended="failed", candidate=FAILED), "speed.candidate-failed"),
        (record(blocks(), ended="failed", again=FAILED), "speed.candidate-failed"),
        (record({"candidate": [0.01], "again": [0.01]}, ended="failed", teaching=FAILED), "speed.baseline-failed"),
        (record(blocks(candidate=2, again=2), candidate={"status": "ok", "finite": False}), "speed.not-finite"),
    ],
)  # fmt: skip
def test_whatever_spoils_the_measurement_is_inconclusive_in_words_and_blocks_nothing(gates, raw, key):
    found, _ = gates(raw)
    gate = found["speed/teaching"]
    assert outcome(gate) == ("INCONCLUSIVE", key)
    assert "?" not in gate.why + gate.change, "a parameter is missing"
    others = [one for one in found.values() if one.name != "speed/teaching"]
    assert all(str(one.verdict) == "NOT APPLICABLE" for one in others)
    assert not any(pattern.startswith("speed") for pattern in REQUIRED)
    assert Result.of("cpu", list(found.values())).content["exit_code"] == 0


def test_an_answer_that_differs_from_the_judged_one_is_said(gates):
    gate = gates(record(blocks(candidate=2, again=2)), answer=0.5)[0]["speed/teaching"]
    assert outcome(gate) == ("INCONCLUSIVE", "speed.wrong-answer")
    assert gate.params["apart"] == pytest.approx(0.5)


def test_an_answer_that_is_not_finite_or_missing_is_said(gates, tmp_path, llama_spec):
    gate = gates(record(blocks()), answer=float("nan"))[0]["speed/teaching"]
    assert outcome(gate) == ("INCONCLUSIVE", "speed.not-finite")
    (tmp_path / "speed-again.pt").unlink()
    found, _ = speed_gates(Trial(llama_spec(), "cpu", tmp_path, read(record(blocks())), 1e-5), [TEACHING])
    assert outcome(found[0]) == ("INCONCLUSIVE", "speed.not-measured")


def test_times_beyond_what_the_machine_can_compute_are_not_believed(gates):
    times = {name: [value / 1e6 for value in values] for name, values in blocks().items()}
    gate = gates(record(times))[0]["speed/teaching"]
    assert outcome(gate) == ("INCONCLUSIVE", "speed.above-peak")
    assert gate.params["claimed"] > gate.params["limit"] > 0


def test_a_clock_that_beats_the_cards_peak_is_not_believed(gates):
    raw = record(blocks()) | {"gemm": {"operations": 1e15, "seconds": 0.01}}
    assert outcome(gates(raw, accelerator="t4")[0]["speed/teaching"]) == ("INCONCLUSIVE", "speed.timer")
    assert outcome(gates(record(blocks()), accelerator="t4")[0]["speed/teaching"])[0] == "PASS"


def test_weights_that_must_be_read_bound_the_time_on_a_card(gates):
    config = {
        "vocab_size": 128,
        "hidden_size": 8192,
        "layers": 8,
        "heads": 64,
        "kv_heads": 8,
        "ffn_size": 28672,
        "context": 32,
    }
    one_token = [{"name": "tokens", "shape": [1, 1], "dtype": "int64", "low": 0, "high": 128}]
    gate = gates(record(blocks()), accelerator="t4", config=config, inputs=one_token, family="llama")[0][
        "speed/teaching"
    ]
    assert outcome(gate) == ("INCONCLUSIVE", "speed.above-bandwidth")


def test_the_least_work_comes_from_the_platforms_own_formula(llama_spec):
    operations, read_bytes = least_work(llama_spec(family="llama"))
    assert operations == 2 * 48 * 22_688  # tokens, and the parameters but for the embedding
    assert read_bytes is None, "weights that fit a cache are not read from memory"
    assert least_work(llama_spec(family="custom")) == (None, None)
    assert least_work(llama_spec(family="llama", config={"heads": 0})) == (None, None)


@pytest.mark.parametrize("reason", REASONS)
def test_a_baseline_that_is_not_comparable_says_why(gates, reason):
    found, table = gates(None, [Baseline("teaching", "a" * 40, reason)])
    assert outcome(found["speed/teaching"]) == ("NOT APPLICABLE", f"speed.{reason}")
    assert table is None


def test_each_baseline_has_its_gate_in_the_order_of_the_plan(gates):
    same = Baseline("production", "c" * 40, "other-lock")
    found, _ = gates(record(blocks(anchor=0.8)), [TEACHING, same, ANCHOR])
    assert list(found) == ["speed/teaching", "speed/production", "speed/anchor", "speed/a-a"]
    assert outcome(found["speed/anchor"]) == ("FAIL", "speed.regression")
    assert outcome(found["speed/teaching"]) == ("PASS", "speed.passed")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", ["passed", "regression", "undecided", "restless", "unconfirmed", *REASONS])
def test_keys_that_are_put_together_have_words(kind, language):
    assert f"speed.{kind}" in catalogue(language)
    assert explain(f"speed.{kind}", language, {"baseline": "teaching", "commit": "a"})[0]
