"""The plan of a commit: what will run, where, with which seed; and what is refused before anything is queued."""

import dataclasses
import json
from pathlib import Path

import pytest
from gpulab.contract import ContractError, Lab, parse_lab, spec_of
from gpulab.contract.lanes import common_lane, lane_for, lanes
from gpulab.contract.plan import make_plan, seed_of
from gpulab.contract.repository import RepositoryFacts, facts_of
from gpulab.contract.requirements import Line
from model_tests import hardware

PROJECT = Path(__file__).parent / "resources/projects/valid"
VALID = (PROJECT / "lab.toml").read_text(encoding="utf-8")
REVISION = "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"
FACTS = RepositoryFacts(dockerfile=(PROJECT / "Dockerfile").read_text(encoding="utf-8"), has_tests=True)


def lab_on(*accelerators: str, **sizes: int) -> Lab:
    text = VALID.replace('accelerators = ["cpu"]', f"accelerators = {json.dumps(accelerators)}")
    for key, value in sizes.items():
        before = next(line for line in text.splitlines() if line.startswith(f"{key} = "))
        text = text.replace(before, f"{key} = {value}", 1)
    return parse_lab(text)


def facts_for(lane: str) -> RepositoryFacts:
    return dataclasses.replace(FACTS, dockerfile=(FACTS.dockerfile or "").replace("runtime-cpu", f"runtime-{lane}"))


def refusals(lab: Lab, facts: RepositoryFacts = FACTS) -> list[str]:
    with pytest.raises(ContractError) as caught:
        make_plan(lab, facts, REVISION)
    return list(map(str, caught.value.problems))


def test_the_plan_has_the_form_of_the_interface() -> None:
    plan = make_plan(lab_on("cpu"), FACTS, REVISION)
    assert plan == json.loads(json.dumps(plan, allow_nan=False))
    assert list(plan) == ["schema", "spec", "accelerators", "lane", "seed", "hardware", "notes"]
    assert plan["schema"] == "gpulab/plan/v1"
    assert plan["spec"] == spec_of(lab_on("cpu"))
    assert (plan["accelerators"], plan["lane"], plan["notes"]) == (["cpu"], "cpu", [])
    assert [row["accelerator"] for row in plan["hardware"]] == ["cpu", "t4", "v100-16", "a100-40"]


def test_the_same_commit_has_the_same_plan() -> None:
    first, second = (json.dumps(make_plan(lab_on("cpu"), FACTS, REVISION)) for _ in range(2))
    assert first == second


def test_the_seed_follows_from_the_revision_and_survives_every_json_reader() -> None:
    seeds = {seed_of(f"{number:040x}") for number in range(200)}
    assert len(seeds) == 200
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert seed_of(REVISION) == 1573031344


@pytest.mark.parametrize("revision", ["", "main", REVISION[:12], REVISION.upper(), f"{REVISION}\n", "g" * 40])
def test_a_seed_needs_a_full_revision(revision: str) -> None:
    with pytest.raises(ValueError, match="40 hexadecimal digits"):
        seed_of(revision)


def test_weights_larger_than_the_device_are_refused_before_anything_is_queued() -> None:
    seven_billion = {"vocab_size": 32000, "hidden_size": 4096, "layers": 32, "heads": 32, "kv_heads": 32}
    lab = lab_on("t4", "h100", **seven_billion, ffn_size=11008)
    assert refusals(lab, facts_for("current")) == [
        "lab.toml: [hardware] accelerators[0]: the float32 weights alone need 25.1 GiB, NVIDIA T4 has 15.0 GiB for the "
        "whole process. Type: a larger accelerator or a smaller [model.config]."
    ]


def test_on_a_cpu_the_limit_of_the_contract_counts() -> None:
    lab = lab_on("cpu", vocab_size=512, hidden_size=8192, ffn_size=28672, layers=80)
    assert "CPU has 8.0 GiB" in refusals(lab)[0]
    assert "or a larger memory_gib in [limits]" in refusals(lab)[0]


def test_accelerators_that_no_image_serves_together_are_refused() -> None:
    (line,) = refusals(lab_on("v100-16", "b200"), dataclasses.replace(FACTS, dockerfile="ARG LANE\nFROM ${LANE}\n"))
    assert "no image lane runs on all of v100-16, b200" in line
    assert "current: b200; legacy: v100-16" in line


def test_an_image_of_another_lane_than_the_accelerators_need_is_refused() -> None:
    (line,) = refusals(lab_on("t4"))
    assert line.startswith("Dockerfile: line 2 [lane-mismatch]")
    assert "Type: ARG LANE=gpulab.local/runtime-current" in line


def test_a_banned_line_of_the_dockerfile_is_refused() -> None:
    bad = dataclasses.replace(FACTS, dockerfile=f"{FACTS.dockerfile}\nADD https://example.org/x /x\n")
    assert ["add-url" in line for line in refusals(lab_on("cpu"), bad)] == [True]


def test_notes_tell_what_is_not_refused() -> None:
    facts = facts_for("legacy")
    plan = make_plan(lab_on("cpu", "v100-16", "t4"), facts, REVISION)
    assert plan["lane"] == "legacy"
    assert plan["notes"] == [
        "cpu runs in lane legacy, which all declared accelerators share (alone: cpu)",
        "t4 runs in lane legacy, which all declared accelerators share (alone: current)",
    ]


def test_configuration_that_the_memory_formulas_cannot_use_is_a_line() -> None:
    lab = parse_lab(VALID.replace("context = 128", "context = 128\nhead_dim = 0"))
    assert "[model.config]" in refusals(lab)[0]
    assert "head_dim" in refusals(lab)[0]


def test_facts_are_read_from_the_files(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_model.py").write_text("")
    (tmp_path / "requirements.txt").write_text("fastapi>=0.115  # the service\n")
    (tmp_path / ".python-version").write_text("3.12\n")
    line = Line("requirements.txt", 1, "fastapi>=0.115")
    assert facts_of(tmp_path) == RepositoryFacts(None, True, True, (line,), {".python-version": "3.12"})


def test_a_plan_is_refused_whose_requirements_contradict_the_lane() -> None:
    facts = dataclasses.replace(FACTS, requirements=(Line("requirements.txt", 3, "torch==2.3.0"),))
    assert refusals(lab_on("cpu"), facts) == [
        "requirements.txt: line 3: found torch==2.3.0, the lane cpu (CPU only) has torch 2.15.0. "
        "Type: torch==2.15.0, or delete the line: the lane has it."
    ]


def test_a_plan_without_tests_is_refused() -> None:
    assert "there is no tests/test_*.py" in refusals(lab_on("cpu"), dataclasses.replace(FACTS, has_tests=False))[0]


def test_several_gpus_are_carried_and_hold_together_what_one_does_not() -> None:
    seven_billion = {"vocab_size": 32000, "hidden_size": 4096, "layers": 32, "heads": 32, "kv_heads": 32}
    lab = lab_on("t4", **seven_billion, ffn_size=11008)
    two = lab.model_copy(update={"hardware": lab.hardware.model_copy(update={"gpus": 2})})
    assert refusals(lab, facts_for("current"))
    plan = make_plan(two, facts_for("current"), REVISION)
    assert plan["spec"]["gpus"] == 2
    row = plan["hardware"][0]
    assert (row["fits"], row["gpus"], row["together"]) == (False, 2, {"have_gib": 30.0, "fits": True})
    assert "2 GPUs per pod: 15.0 GiB each, 30.0 GiB together" in row["note"]


def test_every_accelerator_of_the_catalogue_has_the_lane_that_the_catalogue_says() -> None:
    assert {name: lane_for(name).name for name in hardware.catalogue()} == {
        name: row.lane for name, row in hardware.catalogue().items()
    }


@pytest.mark.parametrize(
    ("accelerators", "lane"),
    [
        ([], "cpu"),
        (["cpu"], "cpu"),
        (["cpu", "l4"], "current"),
        (["v100-32", "t4", "a100-80", "h100", "l40s"], "legacy"),
        (["t4", "b200", "rtx4090"], "current"),
        (["v100-16", "b200"], None),
    ],
)
def test_a_project_has_one_lane_for_all_its_accelerators(accelerators: list[str], lane: str | None) -> None:
    found = common_lane(accelerators)
    assert (found.name if found else None) == lane


@pytest.mark.parametrize(
    ("lane", "runs", "fails"),
    [("current", ["", "7.5", "8.9", "12.0"], ["7.0", "6.1", "13.0"]), ("legacy", ["7.0", "6.1", "9.0"], ["10.0"])],
)
def test_code_runs_on_its_own_major_version_and_later_minors(lane: str, runs: list[str], fails: list[str]) -> None:
    found = next(one for one in lanes() if one.name == lane)
    assert all(map(found.runs_on, runs))
    assert not any(map(found.runs_on, fails))
