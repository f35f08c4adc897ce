"""Each planted fault through the whole path: the push fails, says where, and releases nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

EXPECTED = {
    "rope": ("fp32/right", "layers.0.attention"),
    "overflow": ("finite/float16", "feed_forward"),
    "fp32-layer": ("census/", "feed_forward"),
    "nan": ("fp32/finite", "attention"),
}


@pytest.mark.parametrize("fault", EXPECTED)
def test_a_planted_fault_fails_names_its_module_and_releases_nothing(lab: Any, fault: str) -> None:
    gate, module = EXPECTED[fault]
    clean = lab.git("rev-parse", "HEAD:src")
    lab.with_one_test()
    assert lab.gpulab("break", fault).returncode == 0
    lab.commit(f"break {fault}")
    push = lab.gpulab("push")
    assert push.returncode == 1, push.stdout + push.stderr
    assert lab.deployed("teaching") is None
    report = Path(lab.gpulab("report").stdout.strip())
    results = json.loads((report.parent / "results.json").read_text())
    failed = [one for one in results["gates"] if one["verdict"] == "FAIL"]
    named = [one for one in failed if one["name"].startswith(gate)]
    assert named, [one["name"] for one in failed]
    assert module in (named[0]["module"] or ""), named[0]
    for word in (named[0]["why"], named[0]["change"]):
        assert word in push.stdout
    assert "Traceback" not in push.stdout + push.stderr
    assert lab.gpulab("break", "--undo").returncode == 0
    lab.commit("mend")
    assert lab.git("rev-parse", "HEAD:src") == clean
