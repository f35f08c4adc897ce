"""The INT8 gates on whole models: what passes, what fails and where, and what is left open."""

from functools import partial

import pytest
import torch
from model_tests.int8.quantise import quantise
from model_tests.judging.case import STUDENTS_STAGES
from model_tests.producing import child, int8
from model_tests.producing.evaluation import EvaluationError
from model_tests.producing.handover import Handover
from torch import nn

INT8 = {"schemes": ["weight-only", "dynamic"], "max_loss": 0.05, "evaluation": ""}
SCHEMES = [f"int8/{scheme}" for scheme in INT8["schemes"]]


def verdicts(gates):
    return [gates[name]["verdict"] for name in SCHEMES]


def rounded(bits, per_tensor=False):
    """A quantiser that does worse than it says: weights are rounded to `bits` before they become int8."""

    def worse(model, scheme):
        steps = 2 ** (bits - 1) - 1
        for module in model.modules():
            if isinstance(module, nn.Linear):
                weight = module.weight.data
                scale = weight.abs().amax(None if per_tensor else (1,), keepdim=True) / steps
                module.weight.data = (weight / scale).round() * scale
        return quantise(model, scheme)

    return worse


@pytest.fixture
def llama(student, llama_spec):
    """Return a spec of a LLaMA of students/int8.py, one candidate."""
    student("llama")
    student("int8")

    def make(factory="student_llama:build", max_loss=0.05, **changes):
        return llama_spec(factory=factory, candidates=["bfloat16"], int8=INT8 | {"max_loss": max_loss}, **changes)

    return make


@pytest.fixture
def quantiser(monkeypatch):
    return lambda worse: monkeypatch.setattr(child, "measure_int8", partial(int8.measure_int8, quantiser=worse))


def test_without_the_table_there_is_no_gate(student, llama_spec, judged):
    student("llama")
    result, gates = judged(llama_spec(candidates=["bfloat16"]))
    assert "int8" not in result
    assert [name for name in gates if name.startswith("int8")] == []


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("factory", ["student_llama:build", "student_int8:confident"])
def test_a_clean_llama_passes_in_both_schemes(llama, judged, factory, seed):
    result, gates = judged(llama(factory, seed=seed), seed=seed)
    assert verdicts(gates) == ["PASS", "PASS"]
    assert result["verdict"] == "PASS"
    for facts in result["int8"].values():
        assert facts["low"] <= facts["value"] <= facts["high"] < facts["bound"] / 4
        assert facts["rows"] == 128
        assert facts["bytes_after"] < 0.45 * facts["bytes_before"]
        assert facts["kept"] == {"embed": "Embedding"}


@pytest.mark.parametrize("seed", range(3))
def test_four_bits_in_disguise_fail(llama, judged, quantiser, seed):
    quantiser(rounded(4))
    _, gates = judged(llama("student_int8:confident", seed=seed), seed=seed)
    assert verdicts(gates) == ["FAIL", "FAIL"]
    assert all("at least" in gates[name]["why"] and gates[name]["change"] for name in SCHEMES)


def test_an_untrained_model_must_keep_what_little_it_knows(llama, judged, quantiser):
    """Its answers tell 0.15 nats about the input: max_loss = 0.5 would let everything pass."""
    quantiser(rounded(2))
    result, gates = judged(llama(max_loss=0.5))
    facts = result["int8"]["weight-only"]
    assert facts["bound"] == pytest.approx(0.25 * facts["signal"])
    assert [gates[name]["key"] for name in SCHEMES] == ["int8.kl-faint"] * 2
    assert verdicts(gates) == ["INCONCLUSIVE"] * 2


def test_an_outlier_channel_spoils_one_scale_per_tensor_and_not_one_per_channel(llama, judged, quantiser):
    spec = llama("student_int8:outlier_channel")
    _, gates = judged(spec)
    assert gates["fp32/right"]["verdict"] == "PASS"
    assert gates["int8/weight-only"]["verdict"] == "PASS"
    quantiser(rounded(8, per_tensor=True))
    _, gates = judged(spec)
    assert gates["int8/weight-only"]["verdict"] == "FAIL"


def test_an_outlier_activation_fails_dynamic_and_names_the_layer(llama, judged):
    result, gates = judged(llama("student_int8:outlier_channel"))
    found = gates["int8/dynamic"]
    assert found["verdict"] == "FAIL"
    assert found["module"] in {"layers.0.feed_forward.down", "layers.1.feed_forward.down"}
    assert found["shape"] == [2, 24, 32]
    assert found["module"] in found["change"]
    names = [row["name"] for row in result["int8"]["dynamic"]["worst"][:2]]
    assert sorted(names) == ["layers.0.feed_forward.down", "layers.1.feed_forward.down"]


@pytest.mark.parametrize(
    ("factory", "shape", "config", "output"),
    [
        ("conv", [8, 3, 12, 12], {"channels": 16, "blocks": 2}, "logits"),
        ("encoder", [4, 8, 32], {"layers": 2, "width": 32}, "tensor"),
        ("recurrent", [4, 8, 32], {"width": 32}, "tensor"),
        ("mlp", [32, 48], {"width": 48, "classes": 33}, "tensor"),
        ("mlp", [1, 48], {"width": 48, "classes": 33}, "logits"),
    ],
)
def test_clean_models_of_other_kinds_pass(student, zoo_spec, judged, factory, shape, config, output):
    student("zoo")
    _, gates = judged(zoo_spec(factory, shape, config, output, candidates=["bfloat16"], int8=INT8))
    assert verdicts(gates) == ["PASS", "PASS"]


def zoo_like(zoo_spec, factory, config, **int8):
    spec = zoo_spec("mlp", [32, 24], config, "logits" if factory == "classifier" else "tensor", int8=INT8 | int8)
    return type(spec).from_dict(spec.to_dict() | {"factory": f"student_int8:{factory}", "candidates": ["bfloat16"]})


def test_a_model_without_layers_has_nothing_to_compare(student, zoo_spec, judged):
    student("int8")
    result, gates = judged(zoo_like(zoo_spec, "elementwise", {"width": 24}))
    assert {gates[name]["key"] for name in SCHEMES} == {"int8.nothing"}
    assert verdicts(gates) == ["NOT APPLICABLE"] * 2
    assert result["int8"]["dynamic"]["layers"] == 0


def test_answers_that_ignore_the_input_have_nothing_to_lose(student, zoo_spec, judged):
    student("int8")
    _, gates = judged(zoo_like(zoo_spec, "constant", {"width": 24}))
    assert {gates[name]["key"] for name in SCHEMES} == {"int8.no-signal"}
    assert verdicts(gates) == ["INCONCLUSIVE"] * 2


def evaluated(zoo_spec, name="rows", **int8):
    return zoo_like(zoo_spec, "classifier", {"width": 24, "classes": 8}, evaluation=f"student_int8:{name}", **int8)


@pytest.mark.parametrize(("outlier", "expected"), [(0.0, "PASS"), (300.0, "FAIL")])
def test_an_evaluation_of_the_project_judges_accuracy(student, zoo_spec, judged, outlier, expected):
    student("int8", OUTLIER=outlier, ROWS=400)
    result, gates = judged(evaluated(zoo_spec))
    found, facts = gates["int8/weight-only"], result["int8"]["weight-only"]
    assert found["verdict"] == expected
    assert (facts["metric"], facts["rows"], found["unit"]) == ("accuracy", 400, "share of labels")
    assert found["key"] == "int8.accuracy-" + ("passed" if expected == "PASS" else "lost")
    assert found["module"] == (None if expected == "PASS" else "0")


def test_too_few_labels_leave_it_open_and_say_what_would_be_seen(student, zoo_spec, judged):
    student("int8", OUTLIER=0.0)
    _, gates = judged(evaluated(zoo_spec, max_loss=0.01))
    assert gates["int8/weight-only"]["key"] == "int8.accuracy-open"
    assert gates["int8/weight-only"]["params"]["visible"] > 0.02


def test_a_first_batch_that_loses_nothing_names_no_layer_and_fails_all_the_same(student, zoo_spec, judged):
    """Rows that INT8 answers as float32 does stand first; a share of no loss is no number."""
    student("int8", OUTLIER=300.0, ROWS=400, ORDER="kept first")
    result, gates = judged(evaluated(zoo_spec))
    assert gates["int8/weight-only"]["key"] == "int8.accuracy-lost"
    assert result["int8"]["weight-only"]["worst"] == []
    assert result["exit_code"] == 1


def test_blame_that_cannot_be_found_leaves_the_failure(student, zoo_spec, judged, monkeypatch):
    def breaks(*_):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(int8, "worst_layers", breaks)
    student("int8", OUTLIER=300.0, ROWS=400)
    _, gates = judged(evaluated(zoo_spec))
    assert gates["int8/weight-only"]["key"] == "int8.accuracy-lost"


@pytest.mark.parametrize("batches", ["one", "several"])
def test_rows_beyond_the_most_are_left_out(student, zoo_spec, judged, batches):
    student("int8", OUTLIER=0.0, ROWS=5000, ORDER=batches)
    result, gates = judged(evaluated(zoo_spec))
    assert verdicts(gates) == ["PASS", "PASS"]
    assert result["int8"]["dynamic"]["rows"] == 4096


def test_memory_that_is_short_for_our_models_is_not_the_projects_fault(student, zoo_spec, judged, monkeypatch):
    """On a GPU, float32 and every scheme are in memory beside the rows."""

    def full(*_):
        raise EvaluationError("rows: CUDA out of memory", "out-of-memory")

    monkeypatch.setattr(int8, "truth", full)
    student("int8", OUTLIER=0.0)
    _, gates = judged(evaluated(zoo_spec))
    assert {gates[name]["key"] for name in SCHEMES} == {"int8.not-run"}
    assert verdicts(gates) == ["INCONCLUSIVE"] * 2


@pytest.mark.parametrize("evaluation", ["", "student_int8:rows"])
def test_the_projects_own_stages_come_before_the_harness_repeats_its_model(
    student, zoo_spec, judged, monkeypatch, evaluation
):
    stages = []
    monkeypatch.setattr(Handover, "stage", lambda self, name: stages.append(name))
    student("int8", OUTLIER=0.0)
    judged(zoo_like(zoo_spec, "classifier", {"width": 24, "classes": 8}, evaluation=evaluation))
    own = [stage for stage in STUDENTS_STAGES if evaluation or stage != "evaluation"]
    assert stages[: len(own)] == own
    assert not set(stages[len(own) :]) & set(own)


def test_labels_that_float32_does_not_know_prove_nothing(student, zoo_spec, judged):
    """Both lose against chance alike, so their difference is 0."""
    student("int8", OUTLIER=0.0, ROWS=400, LABELS="chance")
    _, gates = judged(evaluated(zoo_spec))
    assert gates["int8/weight-only"]["verdict"] == "INCONCLUSIVE"
    assert gates["int8/weight-only"]["key"] in {"int8.no-skill", "int8.accuracy-open"}


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("nothing", {}, "has no function nothing"),
        ("no_rows", {}, "returned none"),
        ("broken", {}, "KeyError: 'no such file' (students/int8.py line"),
        ("number", {}, "must return a list of (inputs, labels); got int"),
        ("rows", {"LABELS": "float"}, "labels must be a tensor of int64"),
        ("rows", {"LABELS": "short"}, "must have the same batch"),
        ("uneven", {}, "labels must have the positions of batch 0, [3]"),
    ],
)
def test_an_evaluation_that_gives_no_rows_is_the_projects_fault(student, zoo_spec, judged, name, settings, words):
    student("int8", **settings)
    result, gates = judged(evaluated(zoo_spec, name))
    assert verdicts(gates) == ["FAIL", "FAIL"]
    assert gates["int8/dynamic"]["key"] == "int8.evaluation"
    assert words in gates["int8/dynamic"]["why"]
    assert result["exit_code"] == 1


def test_a_model_that_the_quantiser_cannot_handle_costs_nothing(llama, judged, quantiser):
    def fails(model, scheme):
        raise RuntimeError("no kernel")

    quantiser(fails)
    result, gates = judged(llama())
    assert verdicts(gates) == ["INCONCLUSIVE"] * 2
    assert "no kernel" in gates["int8/dynamic"]["why"]
    assert result["verdict"] == "INCONCLUSIVE"


@pytest.mark.parametrize("evaluation", ["", "student_int8:rows"])
def test_a_scheme_that_cannot_run_spoils_no_other(student, zoo_spec, judged, quantiser, evaluation):
    def fails(model, scheme):
        made = quantise(model, scheme)
        if scheme == "dynamic":
            made.model.forward = lambda x: 1 / 0
        return made

    quantiser(fails)
    student("int8", OUTLIER=0.0, ROWS=400)
    _, gates = judged(zoo_like(zoo_spec, "classifier", {"width": 24, "classes": 8}, evaluation=evaluation))
    assert verdicts(gates) == ["PASS", "INCONCLUSIVE"]
    assert "ZeroDivisionError" in gates["int8/dynamic"]["why"]


def test_values_that_are_not_finite_fail(llama, judged, quantiser):
    def broken(model, scheme):
        model.head.weight.data[0, 0] = torch.inf
        return quantise(model, scheme)

    quantiser(broken)
    _, gates = judged(llama())
    assert {gates[name]["key"] for name in SCHEMES} == {"int8.not-finite"}
    assert verdicts(gates) == ["FAIL", "FAIL"]
