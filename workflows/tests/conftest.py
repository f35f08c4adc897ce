"""A forge in a temporary folder, with a project's source in main and an image of it in the store."""

from pathlib import Path

import pytest
from gpulab.forges.local import LocalForge
from gpulab.forges.local.git import Git
from gpulab.home import Home
from gpulab.images.layout import Layout
from gpulab.steps.release_file import Release

PROJECT = Path(__file__).parent / "resources" / "projects" / "valid"
SLUG, IMAGE = "gpu-lab-1", "gpulab.local/gpu-lab-1"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / ".gpulab")
    Git(tmp_path).run("init", "--quiet", "--bare", "-b", "main", str(home.repository))
    return home


@pytest.fixture
def forge(home: Home) -> LocalForge:
    return LocalForge(home, lambda event: None)


@pytest.fixture
def release(forge: LocalForge, home: Home) -> Release:
    """What a passed push of main's head would release to teaching."""
    tree = forge.git
    for path in (path for path in sorted(PROJECT.rglob("*")) if path.is_file()):
        blob = tree.text("hash-object", "-w", "--stdin", stdin=path.read_bytes())
        tree.run("update-index", "--add", "--cacheinfo", f"100644,{blob},{path.relative_to(PROJECT).as_posix()}")
    person = "s <s@localhost> 0 +0000"  # the same commit in every test
    commit = f"tree {tree.text('write-tree')}\nauthor {person}\ncommitter {person}\n\nsource\n"
    source = tree.text("hash-object", "-t", "commit", "-w", "--stdin", stdin=commit.encode())
    tree.run("update-ref", "refs/heads/main", source)
    digest = Layout(home.images).put(b"an image", "application/octet-stream")["digest"]
    return Release(SLUG, "teaching", source, IMAGE, digest, "push-0123456789ab-123456", "cpu")
