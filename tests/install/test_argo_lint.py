"""Argo's own lint of the rendered pipelines, where its command line is installed or was built for the test cluster."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from gpulab.pipelines.catalogue import PIPELINES

from .conftest import ROOT

RENDERED = ROOT / "workflows" / "src" / "gpulab" / "rendered"
TOOLS = Path(os.environ.get("GPULAB_CLUSTER_TOOLS") or Path.home() / ".cache" / "gpulab" / "cluster-tools")


@pytest.fixture
def argo() -> str:
    built = TOOLS / "bin" / "argo"
    found = str(built) if built.exists() else shutil.which("argo")
    if not found:
        pytest.skip("no argo: python tests/cluster/cluster.py build --only argo")
    return found


def lint(argo: str, *files: Path) -> subprocess.CompletedProcess[str]:
    line = [argo, "lint", "--offline", "--no-color", *map(str, files)]
    return subprocess.run(line, capture_output=True, text=True, check=False)


def test_the_rendered_pipelines_are_clean(argo: str) -> None:
    done = lint(argo, *(RENDERED / f"{name}.yaml" for name in PIPELINES))
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_mistake_is_found(argo: str, tmp_path: Path) -> None:
    wrong = tmp_path / "push.yaml"
    wrong.write_text((RENDERED / "push.yaml").read_text().replace("entrypoint: push", "entrypoint: nothing"))
    assert lint(argo, wrong).returncode != 0
