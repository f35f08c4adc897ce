"""Speed through the whole path: a push is compared with the release, and only a slower one is held back."""

import json
from pathlib import Path
from typing import Any

import pytest

MODEL = Path("src/gpu_lab_1/model.py")
EDITS = {
    # one candidate: what is looked at is the speed
    "candidates = ": 'candidates = ["float16"]  # ',
    "iterations = 20": "iterations = 3\nbudget_seconds = 240",
}


def results(lab: Any) -> dict[str, Any]:
    """The record of the last push run."""
    report = Path(lab.gpulab("report").stdout.strip())
    return json.loads((report.parent / "results.json").read_text())


def gates(lab: Any) -> dict[str, dict[str, Any]]:
    """The gates of speed."""
    return {gate["name"]: gate for gate in results(lab)["gates"] if gate["name"].startswith("speed/")}


@pytest.fixture
def released(lab: Any) -> tuple[Any, str]:
    """A project whose first push has passed, and its commit."""
    lab.with_one_test()
    contract = lab.root / "lab.toml"
    text = contract.read_text()
    for before, after in EDITS.items():
        assert before in text
        text = text.replace(before, after)
    contract.write_text(text)
    commit = lab.commit()
    push = lab.gpulab("push")
    assert push.returncode == 0, push.stdout + push.stderr
    assert gates(lab)["speed/teaching"]["key"] == "speed.no-release"
    return lab, commit


def test_a_slower_commit_is_held_back_and_an_unrelated_edit_is_not(released: tuple[Any, str]) -> None:
    lab, first = released
    (lab.root / MODEL).write_text((lab.root / MODEL).read_text() + "\n# an unrelated edit\n")
    second = lab.commit()
    push = lab.gpulab("push")
    assert push.returncode == 0, push.stdout + push.stderr
    assert gates(lab)["speed/teaching"]["verdict"] != "FAIL"
    assert gates(lab)["speed/teaching"]["params"]["commit"] == first[:12]
    assert gates(lab)["speed/anchor"]["key"] == "speed.same-as-teaching"
    before = lab.deployed("teaching")

    assert lab.gpulab("break", "slow").returncode == 0
    lab.commit("break slow")
    push = lab.gpulab("push")
    assert push.returncode == 1, push.stdout + push.stderr
    found = gates(lab)
    failed = [gate["name"] for gate in results(lab)["gates"] if gate["verdict"] == "FAIL"]
    assert failed == ["speed/teaching", "speed/anchor"], found
    assert found["speed/teaching"]["params"]["commit"] == second[:12]
    assert found["speed/anchor"]["params"]["commit"] == first[:12]
    assert found["speed/teaching"]["why"] in push.stdout
    assert lab.deployed("teaching") == before
    assert "Traceback" not in push.stdout + push.stderr


def test_an_anchor_that_was_never_released_is_refused_in_words(lab: Any) -> None:
    contract = lab.root / "lab.toml"
    contract.write_text(contract.read_text().replace("iterations = 20", f'iterations = 20\nanchor = "{"a" * 40}"'))
    lab.commit()
    push = lab.gpulab("push")
    assert push.returncode == 2, push.stdout + push.stderr
    assert "[benchmark] anchor" in push.stdout
    assert "never released" in push.stdout
    assert lab.deployed("teaching") is None
