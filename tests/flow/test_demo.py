"""`make demo`, typed in a fresh clone."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(1500)
def test_the_demo_runs_from_a_fresh_clone_and_keeps_its_environment(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    first = make_demo(clone)
    assert first.returncode == 0, first.stdout + first.stderr
    said = first.stdout
    assert said.index("of packages") < said.index("gpulab new")
    for line in ("PASS", "report: ", "pull request 1 is merged", "teaching and production run the same digest"):
        assert line in said, said
    assert "Traceback" not in said + first.stderr
    report = Path(said.split("report: ")[1].splitlines()[0])
    assert report.is_file()
    dry = subprocess.run(["make", "--dry-run", "demo"], cwd=clone, capture_output=True, text=True, check=True)
    assert "pip install" not in dry.stdout


def make_demo(clone: Path) -> subprocess.CompletedProcess[str]:
    """Type `make demo`, without whatever virtual environment the tests run in."""
    inherited = {
        name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "MAKEFLAGS", "MAKELEVEL")
    }
    return subprocess.run(["make", "demo"], cwd=clone, env=inherited, capture_output=True, text=True, check=False)
