"""The images that a project builds FROM: pinned as the lock says, and nothing that the platform's own lint refuses."""

import re

import pytest
from gpulab.contract import dockerfile
from gpulab.contract.lanes import lanes

from .conftest import ROOT

IMAGES = ROOT / "images"
DOCKERFILES = sorted(path.relative_to(IMAGES).as_posix() for path in IMAGES.rglob("Dockerfile"))
# A lane is what other files pin, and its own base is pinned by whoever builds it (BASE); its image has no service.
NOT_FOR_LANES = {"neither a lane through ARG", "pip install without a version"}


def locked() -> set[str]:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z0-9-]+==[^ ;\\]+)", text, re.MULTILINE))


def test_the_lanes_of_the_readme_and_the_folders_are_those_of_the_contract():
    readme = (IMAGES / "README.md").read_text(encoding="utf-8")
    for lane in lanes():
        assert f"`{lane.name}`" in readme
    assert [path for path in DOCKERFILES if path.startswith("runtime/")] == [
        "runtime/cpu/Dockerfile",
        "runtime/current/Dockerfile",
    ]


def test_lanes_toml_is_the_one_that_gpulab_reads():
    source = ROOT / "workflows" / "src" / "gpulab" / "contract" / "lanes.toml"
    assert (IMAGES / "lanes.toml").read_bytes() == source.read_bytes()


@pytest.mark.parametrize("name", ["cpu", "current"])
def test_a_lane_is_built_from_the_base_that_the_contract_names(name):
    lane = next(one for one in lanes() if one.name == name)
    text = (IMAGES / "runtime" / name / "Dockerfile").read_text(encoding="utf-8")
    assert f"ARG BASE={lane.base}\n" in text


def test_versions_are_those_of_the_lock():
    pins = re.findall(r"[a-z-]+==[0-9.]+", (IMAGES / "runtime" / "requirements.txt").read_text(encoding="utf-8"))
    for path in DOCKERFILES:
        pins += re.findall(r"torch==[0-9.]+", (IMAGES / path).read_text(encoding="utf-8"))
    assert len(pins) >= 9
    assert set(pins) <= locked()


def test_a_lane_has_all_that_a_project_and_its_tests_import(project):
    lane = (IMAGES / "runtime" / "requirements.txt").read_text(encoding="utf-8")
    wanted = re.findall(r"^([a-z-]+)>=", (project / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert wanted
    for name in [*wanted, "pytest", "httpx"]:
        assert re.search(rf"^{name}==", lane, re.MULTILINE), name


@pytest.mark.parametrize("path", DOCKERFILES)
def test_the_platforms_own_images_keep_its_rules(path):
    text = (IMAGES / path).read_text(encoding="utf-8")
    found = [str(one) for one in dockerfile.lint(text)]
    assert [line for line in found if not any(words in line for words in NOT_FOR_LANES)] == []
    user = "1000:1000" if path == "buildkit/Dockerfile" else "10001:10001"  # BuildKit's own image maps user 1000
    assert f"USER {user}\n" in f"{text}\n"
