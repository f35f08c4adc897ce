"""`gpulab hardware`: the sheet, one card with this project's needs, and what NVML finds."""

import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest
from gpulab.cli.app import app
from gpulab.hardware.found import Found, catalogue_name, found_gpus
from model_tests.hardware import catalogue
from typer.testing import CliRunner, Result

PROJECT = Path(__file__).parent / "resources/projects/valid"


def gpulab(*arguments: str) -> Result:
    return CliRunner().invoke(app(["hardware"]), ["hardware", *arguments])


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = Path(shutil.copytree(PROJECT, tmp_path / "lab"))
    monkeypatch.chdir(folder)
    return folder


def test_the_sheet_has_a_line_for_every_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = gpulab().output.splitlines()
    rows = {line.split()[0]: line.split() for line in lines}
    assert set(catalogue()) <= set(rows)
    assert rows["v100-32"][1:3] == ["32.0", "900"]
    assert rows["v100-32"][-1] == "legacy"


def test_a_driver_changes_the_lanes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = {line.split()[0]: line for line in gpulab("--driver", "550.54.15").output.splitlines()}
    assert rows["t4"].endswith("legacy")
    assert rows["b200"].endswith("none with driver 550.54.15")


def test_one_card_with_this_projects_needs(project: Path) -> None:
    said = gpulab("t4", "--driver", "535.309.01").output
    assert "image lane legacy: CUDA 12.6" in said
    assert "minor version compatibility" in said
    assert "float32: fits, needs 0.6" in said
    assert "this project's lane cpu: does not run there" in said


def test_outside_of_a_project_only_the_card_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = gpulab("a100-80").output
    assert "compute capability 8.0" in said
    assert "Not in a project" in said


@pytest.mark.parametrize("driver", ["latest", "550;ls", "-1", "550.", "99999.1", "٣.١"])
def test_a_driver_that_is_none_is_refused_in_words(driver: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gpulab.cli", "hardware", f"--driver={driver}"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "a driver's version looks like 550.54.15" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_card_that_nobody_knows_is_refused_in_words() -> None:
    done = subprocess.run([sys.executable, "-m", "gpulab.cli", "hardware", "a100"], capture_output=True, text=True)
    assert done.returncode == 2
    assert 'did you mean "a100-40"?' in done.stderr


def test_a_custom_model_is_measured_by_a_dry_run_of_its_own_code(project: Path) -> None:
    text = (project / "lab.toml").read_text(encoding="utf-8")
    (project / "lab.toml").write_text(text.replace('family = "llama"', 'family = "custom"'), encoding="utf-8")
    assert "`gpulab hardware NAME --dry-run` measures it" in gpulab("t4").output
    assert (
        "float32: fits, needs 0.60 GiB of 15.0 GiB (dry run of gpu_lab_1.model:build)"
        in gpulab("t4", "--dry-run").output
    )
    model = project / "src/gpu_lab_1/model.py"
    model.write_text(model.read_text().replace("return self.embedding(tokens)", "return tokens.sum().item()"))
    done = subprocess.run(
        [sys.executable, "-m", "gpulab.cli", "hardware", "t4", "--dry-run"], cwd=project, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "does not run on fake tensors" in done.stderr


class NVMLError(Exception):
    """As NVML's own."""


def nvml(**functions: object) -> types.ModuleType:
    """A stand-in for the library of a machine that has a GPU: this one may have none."""
    module = types.ModuleType("pynvml")
    device = {
        "nvmlInit": lambda: None,
        "nvmlDeviceGetCount": lambda: 1,
        "nvmlDeviceGetHandleByIndex": lambda place: place,
        "nvmlDeviceGetName": lambda handle: b"Tesla T4",
        "nvmlDeviceGetCudaComputeCapability": lambda handle: (7, 5),
        "nvmlDeviceGetMemoryInfo": lambda handle: types.SimpleNamespace(total=15 * 2**30),
        "nvmlSystemGetDriverVersion": lambda: "580.65.06",
        "NVMLError": NVMLError,
    }
    for name, function in {**device, **functions}.items():
        setattr(module, name, function)
    return module


def test_a_gpu_is_told_with_its_name_in_the_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", nvml())
    assert found_gpus() == [Found("Tesla T4", "t4", 15.0, "7.5", "580.65.06")]
    assert "This machine: Tesla T4, 15.0 GiB, compute capability 7.5, driver 580.65.06 = t4" in gpulab().output


def test_a_broken_driver_is_no_gpu_and_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise NVMLError

    monkeypatch.setitem(sys.modules, "pynvml", nvml(nvmlInit=broken))
    assert found_gpus() == []
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert found_gpus() == []


def test_the_name_that_nvml_gives_is_found_by_its_node_label() -> None:
    assert catalogue_name("NVIDIA A100-SXM4-80GB") == "a100-80"
    assert catalogue_name("NVIDIA Something New") == ""
