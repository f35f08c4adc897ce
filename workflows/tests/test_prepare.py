"""The `image` step's decision about a commit's files: what a check of the working tree could have missed."""

import shutil
import subprocess
from pathlib import Path

import pytest
from gpulab.errors import PlatformError
from gpulab.forges.local import LocalForge
from gpulab.home import Home
from gpulab.images.protocol import BuildFailedError, BuildRequest, BuiltImage
from gpulab.steps.image import to_output
from gpulab.steps.prepare import prepare

PROJECT = Path(__file__).parent / "resources/projects/valid"
REVISION = "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"
RUN = "push-0a1b2c3d4e5f-000000"


class Builder:
    """Builds nothing: a build is not what is tested, that none is started is."""

    def __init__(self) -> None:
        self.built: list[Path] = []

    def build(self, request: BuildRequest) -> BuiltImage:
        self.built.append(request.source)
        return BuiltImage(request.repository, f"sha256:{'0' * 64}", "source artifact")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return Path(shutil.copytree(PROJECT, tmp_path / "source"))


@pytest.fixture
def forge(tmp_path: Path) -> LocalForge:
    """Without a release: there is nothing to compare a first commit's speed with."""
    home = Home(tmp_path / ".gpulab")
    subprocess.run(["git", "init", "-q", "--bare", str(home.repository)], check=True)
    return LocalForge(home, lambda event: None)


def test_a_commit_that_keeps_the_contract_is_built(source: Path, forge: LocalForge) -> None:
    builder = Builder()
    prepared = prepare(source, REVISION, RUN, builder, forge)
    assert prepared.message == ""
    assert builder.built == [source]


@pytest.mark.parametrize(
    ("path", "content", "told"),
    [
        ("model.safetensors", b"x", "model.safetensors: 0.0 MB: .safetensors files hold weights"),
        ("data/words.csv", b"x" * 10_000_001, "data/words.csv: 10.0 MB: files in Git are limited to 10 MB"),
        ("gitops/base/a.yaml.rej", b"", "a part of a template update that did not fit"),
        ("requirements.txt", b"torch==2.3.0\n", "found torch==2.3.0, the lane cpu"),
    ],
)
def test_what_a_commit_must_not_hold_is_refused_before_a_build(
    source: Path, forge: LocalForge, path: str, content: bytes, told: str
) -> None:
    (source / path).parent.mkdir(parents=True, exist_ok=True)
    (source / path).write_bytes(content)
    builder = Builder()
    prepared = prepare(source, REVISION, RUN, builder, forge)
    assert told in prepared.message
    assert prepared.plan is None
    assert prepared.record["exit_code"] == 2
    assert builder.built == []


def test_the_pods_ask_for_the_gpus_of_the_contract(source: Path, forge: LocalForge) -> None:
    lab, dockerfile = source / "lab.toml", source / "Dockerfile"
    lab.write_text(lab.read_text().replace('accelerators = ["cpu"]', 'accelerators = ["a100-40"]\ngpus = 2'))
    dockerfile.write_text(dockerfile.read_text().replace("runtime-cpu", "runtime-current"))
    (item,) = to_output(prepare(source, REVISION, RUN, Builder(), forge)).accelerators
    produce = item["podSpecPatch"]["containers"][0]
    assert (produce["name"], produce["resources"]["limits"]) == ("produce", {"nvidia.com/gpu": "2"})


def test_a_build_that_fails_is_the_platforms_trouble(source: Path, forge: LocalForge) -> None:
    class Broken(Builder):
        def build(self, request: BuildRequest) -> BuiltImage:
            raise PlatformError("no room")

    with pytest.raises(PlatformError, match="no room"):
        prepare(source, REVISION, RUN, Broken(), forge)


def test_a_commit_that_does_not_build_is_a_verdict_of_the_gate_image(source: Path, forge: LocalForge) -> None:
    class Broken(Builder):
        def build(self, request: BuildRequest) -> BuiltImage:
            raise BuildFailedError("[2/5] RUN pip install: exit code 1", ["ERROR: no such package"])

    prepared = prepare(source, REVISION, RUN, Broken(), forge)
    gates = {one["name"]: one for one in prepared.record["gates"]}
    assert (gates["contract"]["verdict"], gates["image"]["verdict"]) == ("PASS", "FAIL")
    assert "ERROR: no such package" in gates["image"]["why"]
    assert (prepared.record["image"], prepared.record["exit_code"]) == (None, 1)
    output = to_output(prepared)
    assert (output.image, output.exit_code) == ("", 1)


def test_the_record_says_what_the_image_rests_on(source: Path, forge: LocalForge) -> None:
    image = prepare(source, REVISION, RUN, Builder(), forge).record["image"]
    assert (image["lane"], image["base"]) == ("cpu", "")
