"""The judge, or the parent of the student's process, is killed outright: no verdict, never a FAIL, nothing left."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from killing import FAILPOINTS, until
from verifying import Bench

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="looks into /proc"),
    pytest.mark.timeout(120),
]


def working(folder: Path) -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cwd").readlink().is_relative_to(folder):  # a zombie has no such link
                found.append((entry / "cmdline").read_bytes().decode())
        except OSError:
            continue
    return found


@pytest.fixture(scope="module")
def produced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    bench = Bench(tmp_path_factory.mktemp("produced"))
    bench.lay_out()
    assert bench.produce()["status"] == "ok"
    return bench.folder


def test_a_killed_parent_of_produce_leaves_no_process_and_no_fail(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.lay_out(build="open('building', 'w').close(); import time; time.sleep(60)")
    command = bench.command("produce", "--inputs", "inputs", "--out", "out", "--accelerator", "cpu")
    parent = subprocess.Popen(command, cwd=tmp_path, env=bench.environment(), stdout=subprocess.DEVNULL)
    until((tmp_path / "building").exists)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    until(lambda: not working(tmp_path))
    code, result = bench.judge()
    assert (code, result["verdict"], result["gates"][0]["key"]) == (3, "INCONCLUSIVE", "platform.error")


@pytest.mark.parametrize("point", ["before move result.json", "before move golden.json"])
def test_a_killed_judge_leaves_a_whole_result_or_none(produced: Path, tmp_path: Path, point: str) -> None:
    shutil.copytree(produced, tmp_path, dirs_exist_ok=True)
    bench = Bench(tmp_path)
    outputs = ("--out", "result.json", "--golden", "golden.json", "--message", "message")
    variables = {"BADDAY_POINT": point, "BADDAY_KILLED": str(tmp_path / "killed"), "PYTHONPATH": str(FAILPOINTS)}
    judge = subprocess.run(
        bench.command("judge", "--seed", "1", "--produced", "out", *outputs),
        cwd=tmp_path,
        env=bench.environment() | variables,
        stdout=subprocess.DEVNULL,
        check=False,
    )
    assert judge.returncode == -signal.SIGKILL
    assert not (tmp_path / point.split()[-1]).exists()
    if "result" not in point:
        assert json.loads((tmp_path / "result.json").read_text())["verdict"] == "PASS"
