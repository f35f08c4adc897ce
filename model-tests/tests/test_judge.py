"""The judge: believes nothing that produce left, always writes a result, and says whose turn it is."""

import dataclasses
import json
import math
import os

import pytest
import torch
from model_tests.judge import main
from model_tests.judging.case import judge
from model_tests.judging.golden import single_gate
from model_tests.judging.result import Result

LLAMA = {"vocab_size": 128, "hidden_size": 32, "layers": 2, "heads": 4, "kv_heads": 2, "ffn_size": 64, "context": 32}


@pytest.fixture
def case(student, llama_spec, produced):
    """Return (spec, folder) of a clean LLaMA with one candidate."""
    student("llama")
    spec = llama_spec(candidates=["float16"])
    return spec, produced(spec)


def record(folder, **changes):
    file = folder / "record.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def replaced(folder, name, **changes):
    content = torch.load(folder / f"{name}.pt", weights_only=True)
    torch.save(content | changes, folder / f"{name}.pt")


def outcome(spec, folder, **more):
    content = judge(spec, 1, folder, "cpu", **more).content
    json.dumps(content, allow_nan=False)
    return content["verdict"], content["exit_code"], content["gates"][0]["key"], content["message"]


def test_a_clean_case_passes_with_every_gate_and_table(case):
    spec, folder = case
    result = judge(spec, 1, folder, "cpu")
    names = [gate["name"] for gate in result.content["gates"]]
    assert names == ["smoke", "fp32/finite", "fp32/right", "census/float32", "census/float16", "finite/float16",
                     "precision/float16", "batch-1", "benchmark"]  # fmt: skip
    assert result.content["fp32"]["nu"] < result.content["fp32"]["bound"]
    rows = result.content["modules"]["float16"]
    assert [row["name"] for row in rows][:2] == ["embed", "layers.0.attention_norm"]
    assert all(row["ratio"] is not None and row["nonfinite"] == 0 for row in rows)
    assert result.content["census"]["float16"]["gemm"]["float16"] > 0
    assert result.content["memory"]["parameters"] == sum(p.numel() for p in torch.load(folder / "state.pt").values())
    assert result.content["device"]["kind"] == "cpu"
    assert 1 < result.content["gates"][5]["params"]["headroom"] < math.inf


def test_the_result_does_not_depend_on_when_it_is_made(case):
    spec, folder = case
    assert judge(spec, 1, folder, "cpu").content == judge(spec, 1, folder, "cpu").content


@pytest.mark.parametrize("name", ["state", "float32", "float16"])
@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "code", "list"])
def test_a_damaged_file_is_the_platforms_trouble_and_never_a_traceback(case, name, damage):
    spec, folder = case
    file = folder / f"{name}.pt"
    content = file.read_bytes()
    file.unlink()
    if damage == "empty":
        file.write_bytes(b"")
    if damage == "cut":
        file.write_bytes(content[: len(content) // 2])
    if damage == "code":
        torch.save({"output": print}, file)
    if damage == "list":
        torch.save([1, 2], file)
    verdict, code, key, message = outcome(spec, folder)
    assert (verdict, code, key) == ("INCONCLUSIVE", 3, "platform.error")
    assert f"{name}.pt" in message


@pytest.mark.parametrize(
    "changes",
    [
        {"output": torch.zeros(2, 24, 127)},
        {"output": torch.zeros(2, 24, 128, dtype=torch.int64)},
        {"output": torch.zeros(1, 1, 1).expand(2, 24, 128)},
        {"output": torch.zeros(2, 24, 128).to_sparse()},
        {"output": "PASS"},
        {"calls": "none"},
        {"calls": [{"key": ("a", 0), "kind": "x", "output": {"shape": (2,), "values": "no"}}]},
        {"floors": None},
        {"floors": [torch.zeros(3)]},
        {"floors": [torch.zeros(2, 24, 128)] * 99},
    ],
)
def test_tensors_of_another_kind_than_promised_are_refused(case, changes):
    spec, folder = case
    replaced(folder, "float16", **changes)
    assert outcome(spec, folder)[:3] == ("INCONCLUSIVE", 3, "platform.error")


@pytest.mark.parametrize(
    "text", ["", "null", "[]", "{}", '{"schema": "gpulab/produced/v1", "status": "PASS"}', "[" * 9999]
)
def test_a_record_that_is_none_is_the_platforms_trouble(case, text):
    spec, folder = case
    (folder / "record.json").write_text(text)
    assert outcome(spec, folder)[:3] == ("INCONCLUSIVE", 3, "platform.error")


def test_an_empty_folder_is_the_platforms_trouble(case, tmp_path):
    assert outcome(case[0], tmp_path / "nothing")[:3] == ("INCONCLUSIVE", 3, "platform.error")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"status": "input-error"}, ("FAIL", 2, "smoke.input-error")),
        ({"status": "timeout"}, ("FAIL", 2, "smoke.timeout")),
        ({"status": "out-of-memory"}, ("FAIL", 2, "smoke.out-of-memory")),
        ({"status": "crashed", "code": -11}, ("FAIL", 2, "smoke.crashed")),
        ({"status": "crashed", "code": -9}, ("INCONCLUSIVE", 3, "platform.error")),
        ({"status": "harness-error"}, ("INCONCLUSIVE", 3, "platform.error")),
        ({"environment": {"device": "cuda"}}, ("INCONCLUSIVE", 3, "platform.error")),
        ({"environment": {}}, ("INCONCLUSIVE", 3, "platform.error")),
    ],
)
def test_how_the_run_ended_tells_whose_turn_it_is(case, changes, expected):
    spec, folder = case
    record(folder, **{"message": "it ended\nso \x1b[31m", "stage": "build"} | changes)
    found = outcome(spec, folder)
    assert found[:3] == expected
    assert found[3].isprintable()


def test_nonsense_in_the_tables_of_a_record_is_survived(case):
    spec, folder = case
    record(folder, census={"float16": {"offenders": [3, {"what": "gemm"}], "gemm": {"x": "y"}}, "y": 3}, timing=[1],
           memory={"parameters": -1}, environment={"device": "cpu", "torch": ["x"], "bad": "a\nb"},
           notes=7, floor_errors=None, instrument_errors={"a": {}})  # fmt: skip
    content = judge(spec, 1, folder, "cpu").content
    json.dumps(content, allow_nan=False)
    assert content["exit_code"] in (0, 1)
    assert content["environment"]["bad"] == "a b"


@pytest.mark.parametrize("number", [10**400, -(10**400), 1e308, float("inf"), float("nan")])
def test_numbers_that_no_float_or_no_json_holds_are_survived_in_every_table(case, number):
    spec, folder = case
    row = dict.fromkeys(("status", "message", "layers", "iterations", "median_ms", "p90_ms", "expected"), number)
    tables = ("candidates", "census", "timing", "int8", "memory", "environment", "notes", "floor_errors", "speed")
    written = json.loads((folder / "record.json").read_text())
    for table in tables:
        found = written.get(table) or {}
        record(folder, **{table: found | {"extra": number, "float32": row}})
        assert outcome(spec, folder)[:2] == ("PASS", 0), table
        record(folder, **{table: found})


def test_a_file_that_no_process_within_its_limits_can_have_left_is_not_loaded(case):
    spec, folder = case
    small = dataclasses.replace(spec, memory_gib=0.25)
    assert outcome(small, folder)[0] == "PASS"
    os.truncate(folder / "float64.pt", 2**28 + 1)  # sparse
    assert outcome(small, folder)[:3] == ("INCONCLUSIVE", 3, "platform.error")
    assert "float64.pt has 268435457 bytes" in outcome(small, folder)[3]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s: s.pop("head.weight"), "1 missing: head.weight"),
        (lambda s: s.update(extra=torch.zeros(1)), "1 not in the reference: extra"),
        (lambda s: s.update({"norm.weight": torch.zeros(33)}), "norm.weight is [33], not [32]"),
    ],
)
def test_weights_that_do_not_fit_the_reference_are_the_students_input(case, change, words):
    spec, folder = case
    state = torch.load(folder / "state.pt", weights_only=True)
    change(state)
    torch.save(state, folder / "state.pt")
    verdict, code, key, message = outcome(spec, folder)
    assert (verdict, code, key) == ("FAIL", 2, "smoke.state-dict")
    assert words in message


def test_other_weights_than_those_that_ran_are_found(case):
    """Forging needs more than a state dict: the outputs must follow from it."""
    spec, folder = case
    state = torch.load(folder / "state.pt", weights_only=True)
    state["head.weight"] *= 1.001
    torch.save(state, folder / "state.pt")
    assert outcome(spec, folder)[:2] == ("FAIL", 1)


def test_another_output_shape_than_the_references_is_told(case):
    spec, folder = case
    for name, dtype in (("float32", torch.float32), ("float64", torch.float64)):
        replaced(folder, name, output=torch.zeros(2, 24, 99, dtype=dtype))
    verdict, code, key, message = outcome(spec, folder)
    assert (verdict, code, key) == ("FAIL", 2, "smoke.output-shape")
    assert "[2, 24, 99]" in message
    assert "[2, 24, 128]" in message


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"config": LLAMA | {"surprise": 1}}, "smoke.config"),
        ({"config": LLAMA | {"heads": 3}}, "smoke.config"),
        (
            {"inputs": [{"name": "tokens", "shape": [2, 24], "dtype": "int64", "low": 0, "high": 999}]},
            "smoke.reference",
        ),
        ({"inputs": [{"name": "tokens", "shape": [2, 24], "dtype": "float32"}]}, "smoke.reference"),
    ],
)
def test_a_contract_that_the_reference_cannot_follow_is_the_students_input(case, llama_spec, changes, key):
    assert outcome(llama_spec(candidates=["float16"], **changes), case[1])[:3] == ("FAIL", 2, key)


def test_inputs_that_are_not_those_drawn_are_noticed(case, tmp_path):
    spec, folder = case
    shared = tmp_path / "inputs"
    shared.mkdir()
    torch.save({"tokens": torch.zeros(2, 24, dtype=torch.int64)}, shared / "inputs.pt")
    assert outcome(spec, folder, shared=shared)[:3] == ("INCONCLUSIVE", 3, "platform.error")


def test_floors_that_could_not_be_measured_are_inconclusive_with_the_op(case):
    spec, folder = case
    replaced(folder, "float16", floors=[])
    record(folder, floor_errors={"float16": "aten.odd.default: TypeError"})
    result = judge(spec, 1, folder, "cpu").content
    gate = next(gate for gate in result["gates"] if gate["name"] == "precision/float16")
    assert (gate["verdict"], result["exit_code"]) == ("INCONCLUSIVE", 0)
    assert "aten.odd.default" in gate["why"]


def test_a_candidate_that_was_not_run_fails(case, llama_spec):
    spec, folder = case
    record(folder, candidates={})
    assert outcome(spec, folder)[:2] == ("FAIL", 1)


def test_a_missing_kernel_is_nobodys_mistake(case):
    spec, folder = case
    record(folder, candidates={"float16": {"status": "error", "message": "\"bicubic\" not implemented for 'Half'"}})
    assert outcome(spec, folder)[:2] == ("INCONCLUSIVE", 0)


def test_a_model_without_fp64_and_without_reference_is_inconclusive(student, zoo_spec, produced):
    student("zoo")
    spec = zoo_spec("mlp", [32, 64], {"width": 64, "classes": 16}, candidates=["float16"])
    folder = produced(spec)
    (folder / "float64.pt").unlink()
    record(folder, notes={"float64": "expected Float but found Double"})
    result = judge(spec, 1, folder, "cpu").content
    verdicts = {gate["name"]: gate["verdict"] for gate in result["gates"]}
    assert verdicts["fp32/self-consistency"] == verdicts["precision/float16"] == "INCONCLUSIVE"
    assert "found Double" in result["message"]


def test_the_golden_request_is_the_first_row_and_its_answer_alone(case):
    spec, folder = case
    golden = judge(spec, 1, folder, "cpu").golden
    inputs, outputs = torch.tensor(golden["inputs"]["tokens"]), torch.tensor(golden["outputs"])
    assert (inputs.shape, outputs.shape) == ((1, 24), (1, 24, 128))
    whole = torch.load(folder / "float32.pt", weights_only=True)["output"]
    assert (outputs - whole[:1]).norm() / whole[:1].norm() < golden["rtol"] < 1e-4
    assert (outputs * 1.001 - whole[:1]).norm() / whole[:1].norm() > golden["rtol"]


def test_the_golden_answer_in_half_allows_what_half_loses(student, llama_spec, produced):
    student("llama")
    spec = llama_spec(candidates=["float16"], serving_dtype="float16")
    golden = judge(spec, 1, produced(spec), "cpu").golden
    assert 2**-11 < golden["rtol"] < 0.02


def test_no_golden_request_is_better_than_a_wrong_one(case):
    spec, folder = case
    replaced(folder, "golden", output=torch.full((1, 24, 128), float("nan")))
    assert judge(spec, 1, folder, "cpu").golden is None


@pytest.fixture
def command(case, tmp_path):
    """Run the command line on a clean case; returns (exit code, result, message)."""
    spec, folder = case

    def run(*more, text=None):
        (tmp_path / "spec.json").write_text(json.dumps(spec.to_dict()) if text is None else text)
        out = tmp_path / "results" / "cpu.json"
        names = {"--spec": tmp_path / "spec.json", "--seed": 1, "--produced": folder, "--out": out,
                 "--golden": tmp_path / "golden.json", "--message": tmp_path / "message.txt"}  # fmt: skip
        code = main([*(str(part) for pair in names.items() for part in pair), *more])
        return code, json.loads(out.read_text()), (tmp_path / "message.txt").read_text()

    return run


def test_the_command_writes_result_golden_and_message(command, tmp_path):
    code, result, message = command()
    assert (code, result["verdict"], message) == (0, "PASS", "PASS: 8 gates passed\n")
    assert (tmp_path / "golden.json").exists()
    assert result["environment"]["seconds"] > 0


def test_the_message_is_written_in_place(command, tmp_path):
    """Kubernetes mounts that one file, in a folder that is not ours to write."""
    (tmp_path / "message.txt").write_text("")
    before = (tmp_path / "message.txt").stat().st_ino
    assert command()[2].startswith("PASS")
    assert (tmp_path / "message.txt").stat().st_ino == before


def test_a_message_that_cannot_be_left_costs_no_verdict(command, tmp_path):
    (tmp_path / "message.txt").mkdir()
    with pytest.raises(IsADirectoryError):  # our own look at it
        command()
    assert json.loads((tmp_path / "results" / "cpu.json").read_text())["verdict"] == "PASS"


def test_a_spec_that_is_none_is_still_a_result(command):
    code, result, message = command(text='{"factory": 3}')
    assert (code, result["exit_code"], result["gates"][0]["key"]) == (3, 3, "platform.error")
    assert message.startswith("INCONCLUSIVE: smoke: ")


def test_a_result_that_cannot_be_written_is_the_platforms_trouble(case, tmp_path):
    spec, folder = case
    (tmp_path / "spec.json").write_text(json.dumps(spec.to_dict()))
    (tmp_path / "results").write_text("a file is in the way")
    names = {"--spec": tmp_path / "spec.json", "--seed": 1, "--produced": folder, "--out": tmp_path / "results" / "a"}
    assert main([str(part) for pair in names.items() for part in pair]) == 3


def rows(*values: float) -> torch.Tensor:
    return torch.tensor([[value, 2 * value] for value in values])


@pytest.mark.parametrize(
    ("alone", "verdict"),
    [
        (rows(1.0), "PASS"),
        (rows(1.0 + 1e-6), "PASS"),
        (rows(1.1), "FAIL"),
        (rows(0.0), "FAIL"),
        (rows(math.nan), "FAIL"),
        (rows(1.0, 2.0), "FAIL"),
        (None, "INCONCLUSIVE"),
    ],
)
def test_a_row_is_answered_alone_as_in_the_batch(alone, verdict):
    assert single_gate(alone, rows(1.0, 2.0, 3.0), 1e-4).verdict == verdict


def test_the_judges_own_lack_of_memory_is_not_the_students_fault(case, monkeypatch):
    def full(*_arguments, **_more):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes")

    spec, folder = case
    monkeypatch.setattr("model_tests.judging.reference.Recorder", full)
    with pytest.raises(RuntimeError, match="allocate"):
        judge(spec, 1, folder, "cpu")


def test_an_error_of_ours_is_inconclusive_and_exit_3(command, monkeypatch):
    monkeypatch.setattr("model_tests.judge.judge", lambda *a: 1 / 0)
    code, result, message = command()
    assert (code, result["verdict"], result["exit_code"]) == (3, "INCONCLUSIVE", 3)
    assert "ZeroDivisionError" in message


@pytest.mark.parametrize("place", ["content", "golden"])
def test_a_number_that_json_lacks_still_gives_a_result(command, monkeypatch, place):
    found = Result.trouble("cpu", "x")
    table = found.content if place == "content" else {"inputs": []}
    table["extra"] = math.nan
    found.golden = table if place == "golden" else None
    monkeypatch.setattr("model_tests.judge.judge", lambda *a: found)
    code, result, message = command()
    assert (code, result["verdict"]) == (3, "INCONCLUSIVE")
    assert "ValueError" in message


@pytest.mark.parametrize("status", ["timeout", "out-of-memory"])
@pytest.mark.parametrize(
    ("stage", "verdict", "code"),
    [
        ("build", "FAIL", 2),
        ("float32", "FAIL", 2),
        ("float64", "INCONCLUSIVE", 3),
        ("float16", "INCONCLUSIVE", 3),
        ("golden", "INCONCLUSIVE", 3),
    ],
)
def test_a_limit_met_by_the_harness_itself_is_not_the_students_fault(case, tmp_path, status, stage, verdict, code):
    spec, folder = case
    record = json.loads((folder / "record.json").read_text())
    (tmp_path / "record.json").write_text(json.dumps(record | {"status": status, "stage": stage, "message": "met"}))
    content = judge(spec, 1, tmp_path, "cpu").content
    assert (content["verdict"], content["exit_code"]) == (verdict, code)
