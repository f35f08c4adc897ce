import json
import os
from pathlib import Path

import pytest
from gpulab.errors import PlatformError
from gpulab.images.layout import Layout
from gpulab.images.protocol import BuildRequest
from gpulab.images.source_artifact import SourceArtifactBuilder, pack
from gpulab.images.unpack import environment, unpack, working_directory


def tree(folder: Path, order: list[str]) -> Path:
    for name in order:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"content of {name}\n")
    (folder / "run.sh").chmod(0o755)
    return folder


def request(source: Path) -> BuildRequest:
    return BuildRequest(source, "0" * 40, "lab", "cpu", "push-1")


FILES = ["src/a.py", "run.sh", "README.md"]


def test_the_same_files_have_the_same_digest(tmp_path: Path) -> None:
    one, two = tree(tmp_path / "one", FILES), tree(tmp_path / "two", FILES[::-1])
    os.utime(two / "README.md", (1, 1))
    first = SourceArtifactBuilder(Layout(tmp_path / "x")).build(request(one))
    second = SourceArtifactBuilder(Layout(tmp_path / "y")).build(request(two))
    assert first == second
    assert first.kind == "source artifact"


@pytest.mark.parametrize("change", ["content", "mode", "name", "link"])
def test_any_change_changes_the_digest(tmp_path: Path, change: str) -> None:
    folder = tree(tmp_path / "one", FILES)
    before = pack(folder)
    if change == "content":
        (folder / "README.md").write_text("other")
    elif change == "mode":
        (folder / "README.md").chmod(0o755)
    elif change == "name":
        (folder / "README.md").rename(folder / "READ.md")
    else:
        (folder / "link").symlink_to("README.md")
    assert pack(folder) != before


def test_an_image_is_laid_out_as_it_was_packed(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "images")
    built = SourceArtifactBuilder(layout).build(request(tree(tmp_path / "one", FILES)))
    root = unpack(layout, built.digest, tmp_path / "root")
    assert (root / "app/src/a.py").read_text() == "content of src/a.py\n"
    assert os.access(root / "app/run.sh", os.X_OK)
    assert environment(layout, built.digest) == {"PYTHONPATH": "/app/src"}
    assert working_directory(layout, built.digest) == "/app"


def test_the_layout_is_the_one_that_oci_describes(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    built = SourceArtifactBuilder(layout).build(request(tree(tmp_path / "one", FILES)))
    index = json.loads((tmp_path / "index.json").read_text())
    assert json.loads((tmp_path / "oci-layout").read_text()) == {"imageLayoutVersion": "1.0.0"}
    assert index["manifests"][0]["digest"] == built.digest
    for descriptor in (*layout.manifest(built.digest)["layers"], layout.manifest(built.digest)["config"]):
        assert len(layout.get(descriptor["digest"])) == descriptor["size"]


def test_a_damaged_or_missing_blob_is_the_platforms_trouble(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "images")
    built = SourceArtifactBuilder(layout).build(request(tree(tmp_path / "one", FILES)))
    layout.blob(built.digest).write_bytes(b"{}")
    with pytest.raises(PlatformError, match="damaged"):
        layout.manifest(built.digest)
    with pytest.raises(PlatformError, match="has no"):
        layout.get("sha256:" + "0" * 64)
