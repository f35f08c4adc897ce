"""The judge of INT8 believes nothing: damaged, swapped and forged answers."""

import json

import pytest
import torch
from model_tests.int8 import FLOAT32
from model_tests.judging.case import judge
from model_tests.producing import int8

INT8 = {"schemes": ["weight-only", "dynamic"], "max_loss": 0.05, "evaluation": ""}


@pytest.fixture
def case(student, llama_spec, produced):
    student("llama")
    spec = llama_spec(candidates=["bfloat16"], int8=INT8)
    return spec, produced(spec)


def gates_of(case):
    spec, folder = case
    content = judge(spec, 1, folder, "cpu").content
    json.dumps(content, allow_nan=False)
    return content, {gate["name"]: gate for gate in content["gates"]}


def answers(folder, name, change):
    content = torch.load(folder / f"{name}.pt", weights_only=True)
    torch.save({"output": change(content["output"])}, folder / f"{name}.pt")


def test_the_result_does_not_depend_on_when_it_is_made(case):
    assert gates_of(case) == gates_of(case)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("int8-dynamic", lambda x: x[:-1]),
        ("int8-dynamic", lambda x: x.double()),
        ("int8-dynamic", lambda x: x[:1].clone().expand_as(x)),
        ("int8-dynamic", lambda x: x.repeat(40, 1, 1)),
        (FLOAT32, lambda x: x.repeat(40, 1, 1)),
        (FLOAT32, lambda x: x[:, :, :-1]),
        (FLOAT32, lambda x: x[:31]),
        (FLOAT32, lambda x: "PASS"),
    ],
)
def test_answers_of_another_kind_than_promised_decide_nothing_and_spoil_no_other_gate(case, name, change):
    answers(case[1], name, change)
    content, gates = gates_of(case)
    assert (content["verdict"], content["exit_code"]) == ("INCONCLUSIVE", 0)
    spoilt = {gate for gate, found in gates.items() if found["verdict"] == "INCONCLUSIVE"}
    assert spoilt == ({"int8/weight-only", "int8/dynamic"} if name == FLOAT32 else {name.replace("-", "/", 1)})
    assert {gates[gate]["key"] for gate in spoilt} == {"int8.damaged"}
    assert all("int8-" in gates[gate]["why"] for gate in spoilt)


def test_a_damaged_int8_file_hides_no_failure(student, llama_spec, produced):
    student("llama", FAULT="rope")
    spec = llama_spec(candidates=["bfloat16"], int8=INT8)
    folder = produced(spec)
    (folder / f"{FLOAT32}.pt").unlink()
    content, gates = gates_of((spec, folder))
    assert (content["verdict"], content["exit_code"], gates["fp32/right"]["verdict"]) == ("FAIL", 1, "FAIL")


def test_float32_that_is_not_finite_in_a_later_row_is_no_pass_and_no_number(case):
    def forged(x):
        x = x.clone()
        x[20] = float("nan")
        return x

    answers(case[1], FLOAT32, forged)
    _, gates = gates_of((case[0].from_dict(case[0].to_dict() | {"reference": ""}), case[1]))
    found = gates["int8/dynamic"]
    assert (found["verdict"], found["key"]) == ("INCONCLUSIVE", "int8.float32-not-finite")


@pytest.mark.parametrize(("first", "last"), [(0, 2), (-2, None)])
def test_float32_answers_that_are_not_the_proven_models_decide_nothing(case, first, last):
    """Easy answers, which INT8 keeps: the first batch is known, the last is held to the reference."""

    def forged(x):
        x = x.clone()
        x[first:last] = 0.0
        return x

    for name in (FLOAT32, "int8-weight-only", "int8-dynamic"):
        answers(case[1], name, forged)
    _, gates = gates_of(case)
    assert {gates[f"int8/{scheme}"]["key"] for scheme in INT8["schemes"]} == {"int8.float32-differs"}
    assert {gates[f"int8/{scheme}"]["verdict"] for scheme in INT8["schemes"]} == {"INCONCLUSIVE"}


@pytest.mark.parametrize("table", [None, [], {"dynamic": 3}, {"dynamic": {"status": "PASS", "layers": -1, "kept": 7}}])
def test_nonsense_in_the_record_is_no_pass(case, table):
    _, folder = case
    file = folder / "record.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"int8": table}))
    content, gates = gates_of(case)
    assert gates["int8/dynamic"]["verdict"] == "INCONCLUSIVE"
    assert content["verdict"] == "INCONCLUSIVE"


def test_facts_in_the_record_are_cleaned(case):
    _, folder = case
    file = folder / "record.json"
    record = json.loads(file.read_text())
    record["int8"]["dynamic"] |= {"worst": [7, {"name": "a\nb", "share": 2}, {"name": "c\nd", "share": 0.5}],
                                  "kept": {"x\ny": ["z"]}, "bytes_before": "many"}  # fmt: skip
    file.write_text(json.dumps(record))
    facts = gates_of(case)[0]["int8"]["dynamic"]
    assert facts["worst"] == [{"name": "c d", "share": 0.5}]
    assert list(facts["kept"]) == ["x y"]
    assert "bytes_before" not in facts


def test_a_wrong_float32_is_told_once_and_int8_is_still_compared_with_it(student, llama_spec, produced):
    student("llama", FAULT="rope")
    spec = llama_spec(candidates=["bfloat16"], int8=INT8)
    _, gates = gates_of((spec, produced(spec)))
    assert gates["fp32/right"]["verdict"] == "FAIL"
    assert gates["int8/dynamic"]["verdict"] == "PASS"


@pytest.mark.parametrize(
    ("stage", "expected"),
    [("evaluation", ("FAIL", 2, "smoke.timeout")), ("int8", ("INCONCLUSIVE", 3, "platform.error"))],
)
def test_an_evaluation_that_never_ends_is_the_projects_and_our_own_runs_are_not(case, stage, expected):
    file = case[1] / "record.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"status": "timeout", "stage": stage}))
    content, gates = gates_of(case)
    assert (content["verdict"], content["exit_code"], gates["smoke"]["key"]) == expected


def test_when_time_is_up_after_few_rows_nothing_is_decided(student, llama_spec, produced, monkeypatch):
    monkeypatch.setattr(int8, "MOST_SECONDS", 0.0)
    student("llama")
    spec = llama_spec(candidates=["bfloat16"], int8=INT8)
    _, gates = gates_of((spec, produced(spec)))
    assert gates["int8/dynamic"]["key"] == "int8.few-rows"
    assert "Only 2 rows" in gates["int8/dynamic"]["why"]
    assert "128 are needed" in gates["int8/dynamic"]["why"]


def test_when_time_is_up_before_a_pass_is_allowed_it_says_how_many_rows_are_missing(
    student, llama_spec, produced, monkeypatch
):
    monkeypatch.setattr("model_tests.int8.rows.LOOKS", (32, 32, 32, 32))
    student("llama")
    spec = llama_spec(candidates=["bfloat16"], int8=INT8)
    folder = produced(spec)
    monkeypatch.undo()
    student("llama")
    found = gates_of((spec, folder))[1]["int8/dynamic"]
    assert (found["verdict"], found["key"]) == ("INCONCLUSIVE", "int8.few-rows")
    assert "Only 32 rows" in found["why"]
