"""What this machine cannot prove is said before anything is pushed; the driver is asked, not the environment."""

from pathlib import Path

import pytest
from gpulab.checking.here import has_gpu, unproven_here
from gpulab.contract import parse_lab

LAB = (Path(__file__).parent / "resources" / "projects" / "valid" / "lab.toml").read_text(encoding="utf-8")


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Puts an `nvidia-smi` that says something, or nothing at all, on an otherwise empty PATH."""

    def put(script: str | None) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        if script is not None:
            program = tmp_path / "nvidia-smi"
            program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
            program.chmod(0o755)

    return put


@pytest.mark.parametrize(
    ("script", "found"),
    [
        (None, False),
        ("echo 'GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)'", True),
        ("echo 'No devices were found'", False),
        ("echo 'GPU 0: lost'; exit 15", False),
        ("exit 9", False),
    ],
)
def test_a_gpu_is_there_when_the_driver_lists_one(driver, script: str | None, found: bool) -> None:
    driver(script)
    assert has_gpu() is found


def declared(*accelerators: str):
    names = ", ".join(f'"{name}"' for name in accelerators)
    lines = [f"accelerators = [{names}]" if line.startswith("accelerators") else line for line in LAB.splitlines()]
    return parse_lab("\n".join(lines))


def test_only_a_named_gpu_without_a_gpu_is_worth_a_warning(driver) -> None:
    driver(None)
    assert unproven_here(declared("cpu")) == []
    (warning,) = unproven_here(declared("cpu", "t4", "h100"))
    assert warning.level == "warning"
    assert "no NVIDIA GPU, so nothing can be proven on t4, h100 here" in str(warning)
    assert 'accelerators = ["cpu"]' in warning.hint


def test_with_a_gpu_there_is_nothing_to_say(driver) -> None:
    driver("echo 'GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)'")
    assert unproven_here(declared("h100")) == []
