import json
from pathlib import Path
from typing import Any

import pytest
from gpulab.steps.junit import read_junit
from gpulab.steps.results import RunFacts, collect

FACTS = RunFacts(
    project="lab",
    revision="a" * 40,
    ref="refs/heads/main",
    run="push-aaaaaaaaaaaa-123456",
    image_status="Succeeded",
    tests_status="Succeeded",
    verify_status="Succeeded",
)
IMAGE = {"reference": "lab@sha256:1", "repository": "lab", "digest": "sha256:1", "kind": "source artifact"}
JUNIT = '<testsuites><testsuite><testcase classname="t" name="a"/>{}</testsuite></testsuites>'
FAILED = '<testcase classname="t" name="b"><failure message="1 != 2&#10;more"/></testcase>'


def gate(name: str, verdict: str) -> dict[str, Any]:
    return {"name": name, "verdict": verdict, "why": f"why {name}", "change": "change"}


def verified(verdict: str = "PASS", exit_code: int = 0, name: str = "precision/float16") -> dict[str, Any]:
    names = ["smoke", "batch-1", "fp32/right", "census/float16", "finite/float16", "precision/float16"]
    gates = [gate(one, verdict if one == name else "PASS") for one in names]
    return {"schema": "gpulab/verify/v1", "verdict": verdict, "exit_code": exit_code, "gates": gates}


def run_folder(folder: Path, tests: str | None = JUNIT.format(""), **verify: dict[str, Any] | None) -> Path:
    accelerators = list(verify) or ["cpu"]
    record = {"gates": [gate("contract", "PASS"), gate("image", "PASS")], "image": IMAGE, "project": {"slug": "lab"}}
    write(folder / "image.json", record | {"exit_code": 0})
    write(folder / "plan.json", {"schema": "gpulab/plan/v1", "accelerators": accelerators})
    if tests is not None:
        (folder / "tests").mkdir()
        (folder / "tests" / "junit.xml").write_text(tests)
    for name, result in (verify or {"cpu": verified()}).items():
        if result is not None:
            write(folder / "verify" / f"{name}.json", result)
    return folder


def write(path: Path, document: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))


def test_a_run_without_a_flaw_passes(tmp_path: Path) -> None:
    results = collect(run_folder(tmp_path), FACTS)
    assert (results["verdict"], results["exit_code"]) == ("PASS", 0)
    assert results["image"] == IMAGE
    assert [one["name"] for one in results["gates"]][:3] == ["contract", "image", "tests"]
    assert results["gates"][-1]["accelerator"] == "cpu"


def test_a_failed_gate_fails_the_run_and_names_itself(tmp_path: Path) -> None:
    results = collect(run_folder(tmp_path, cpu=verified("FAIL", 1)), FACTS)
    assert (results["verdict"], results["exit_code"]) == ("FAIL", 1)
    assert results["summary"] == "FAIL: precision/float16 on cpu: why precision/float16"


def test_an_inconclusive_gate_is_nobodys_fault(tmp_path: Path) -> None:
    results = collect(run_folder(tmp_path, cpu=verified("INCONCLUSIVE")), FACTS)
    assert (results["verdict"], results["exit_code"]) == ("INCONCLUSIVE", 3)


def test_the_students_input_error_is_exit_code_2(tmp_path: Path) -> None:
    results = collect(run_folder(tmp_path, cpu=verified("FAIL", 2, name="smoke")), FACTS)
    assert (results["verdict"], results["exit_code"]) == ("FAIL", 2)


def test_one_missing_result_of_two_is_inconclusive_not_passed(tmp_path: Path) -> None:
    results = collect(run_folder(tmp_path, cpu=verified(), t4=None), FACTS)
    assert (results["verdict"], results["exit_code"]) == ("INCONCLUSIVE", 3)
    undecided = [one["accelerator"] for one in results["gates"] if one["verdict"] == "INCONCLUSIVE"]
    assert undecided == ["t4"]


def test_a_failure_beside_a_missing_result_is_a_failure(tmp_path: Path) -> None:
    assert collect(run_folder(tmp_path, cpu=verified("FAIL", 1), t4=None), FACTS)["verdict"] == "FAIL"


@pytest.mark.parametrize("damage", ["", "{", "[]", '"text"', '{"schema": "other"}'])
def test_a_damaged_result_counts_as_missing(tmp_path: Path, damage: str) -> None:
    folder = run_folder(tmp_path)
    (folder / "verify" / "cpu.json").write_text(damage)
    assert collect(folder, FACTS)["verdict"] == "INCONCLUSIVE"


def test_a_result_without_its_gates_does_not_pass(tmp_path: Path) -> None:
    short = verified() | {"gates": [gate("smoke", "PASS")]}
    assert collect(run_folder(tmp_path, cpu=short), FACTS)["verdict"] == "INCONCLUSIVE"


def test_a_failing_test_fails_the_run(tmp_path: Path) -> None:
    results = collect(run_folder(tmp_path, tests=JUNIT.format(FAILED)), FACTS)
    assert results["verdict"] == "FAIL"
    assert "t.b: 1 != 2" in next(one for one in results["gates"] if one["name"] == "tests")["params"]["detail"]


def test_tests_that_left_no_report_are_inconclusive(tmp_path: Path) -> None:
    assert collect(run_folder(tmp_path, tests=None), FACTS)["verdict"] == "INCONCLUSIVE"


def test_a_green_pod_with_failures_in_its_report_does_not_pass(tmp_path: Path) -> None:
    assert collect(run_folder(tmp_path, tests=JUNIT.format(FAILED)), FACTS)["verdict"] == "FAIL"


def test_a_red_pod_with_a_green_report_does_not_pass(tmp_path: Path) -> None:
    facts = RunFacts(**(FACTS.__dict__ | {"tests_status": "Failed"}))
    assert collect(run_folder(tmp_path), facts)["verdict"] != "PASS"


def test_a_pod_that_broke_after_green_tests_is_not_a_failure(tmp_path: Path) -> None:
    facts = RunFacts(**(FACTS.__dict__ | {"tests_status": "Error"}))
    assert collect(run_folder(tmp_path), facts)["verdict"] == "INCONCLUSIVE"


def test_tests_without_a_test_fail_in_words(tmp_path: Path) -> None:
    facts = RunFacts(**(FACTS.__dict__ | {"tests_status": "Failed"}))
    results = collect(run_folder(tmp_path, tests="<testsuites/>"), facts)
    assert results["verdict"] == "FAIL"
    assert "no test ran" in results["summary"]


def test_a_refused_contract_needs_nothing_else(tmp_path: Path) -> None:
    write(tmp_path / "image.json", {"gates": [gate("contract", "FAIL")], "image": None, "exit_code": 2})
    results = collect(tmp_path, FACTS)
    assert (results["verdict"], results["exit_code"]) == ("FAIL", 2)
    assert results["verify"] == {}


def test_a_commit_that_does_not_build_fails_by_its_gate(tmp_path: Path) -> None:
    gates = [gate("contract", "PASS"), gate("image", "FAIL")]
    write(tmp_path / "image.json", {"gates": gates, "image": None, "project": {"slug": "lab"}, "exit_code": 1})
    write(tmp_path / "plan.json", {"schema": "gpulab/plan/v1", "accelerators": ["cpu"]})
    results = collect(tmp_path, FACTS)
    assert (results["verdict"], results["exit_code"]) == ("FAIL", 1)
    assert [one["name"] for one in results["gates"]] == ["contract", "image"]


def test_an_empty_run_folder_is_the_platforms_trouble(tmp_path: Path) -> None:
    results = collect(tmp_path, FACTS)
    assert (results["verdict"], results["exit_code"]) == ("INCONCLUSIVE", 3)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<a",
        "<a/>",
        "not xml",
        '<?xml version="1.0" encoding="foo"?><a/>',
        '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
    ],
)
def test_a_strange_junit_file_is_no_traceback(tmp_path: Path, text: str) -> None:
    (tmp_path / "junit.xml").write_text(text)
    counts = read_junit(tmp_path / "junit.xml")
    assert counts is None or counts["total"] == 0


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [("PASS", "PASS"), ("INCONCLUSIVE", "PASS"), ("NOT APPLICABLE", "PASS"), ("FAIL", "FAIL")],
)
def test_only_a_proven_slowdown_holds_a_run_back(tmp_path: Path, verdict: str, expected: str) -> None:
    result = verified()
    result["gates"] += [gate("speed/teaching", verdict), gate("speed/a-a", "NOT APPLICABLE")]
    assert collect(run_folder(tmp_path, cpu=result), FACTS)["verdict"] == expected
