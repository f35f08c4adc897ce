"""What every test of the installation looks at: each overlay as kustomize renders it."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gpulab.rendering.documents import read_documents
from gpulab.rendering.kustomize import build

ROOT = Path(__file__).parents[2]
GITOPS = ROOT / "gitops"
OVERLAYS = sorted(folder.name for folder in (GITOPS / "overlays").iterdir())
Document = dict[str, Any]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`overlay` and `documents` run over every overlay."""
    if "overlay" in metafunc.fixturenames:
        metafunc.parametrize("overlay", OVERLAYS, scope="session")


@pytest.fixture(scope="session")
def documents(overlay: str) -> list[Document]:
    return read_documents(build(GITOPS / "overlays" / overlay, f"gitops/overlays/{overlay}"))


@pytest.fixture
def own_overlay(tmp_path: Path) -> Callable[..., list[Document]]:
    """The overlay of a user: some lines on top of one of ours, in a folder elsewhere."""

    def make(overlay: str, lines: str, **files: str) -> list[Document]:
        base = os.path.relpath(GITOPS / "overlays" / overlay, tmp_path)
        head = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
        (tmp_path / "kustomization.yaml").write_text(f"{head}resources:\n  - {base}\n{lines}")
        for name, text in files.items():
            (tmp_path / name.replace("_", ".")).write_text(text)
        return read_documents(build(tmp_path, "own overlay"))

    return make
