"""Rules about FROM: a lane of the platform, or an image that cannot change."""

import re
from collections.abc import Iterable, Iterator

from gpulab.contract.cuda_compat import Image, compatible
from gpulab.contract.dockerfile.rule import Hit, Rule
from gpulab.contract.dockerfile.syntax import INSTRUCTION, Dockerfile, Stage
from gpulab.contract.lanes import Lane, device_of, lanes, suggested

DIGEST = re.compile(r"@sha256:[0-9a-f]{64}$")

_CUDA_TAG = re.compile(r"\d+\.\d+\.\d+-(?:cudnn\d*-)?(?:base|runtime|devel)-[a-z]+[0-9.]+")
OLDEST_CUDA = 12
"""Older CUDA has no PyTorch wheels any more, and NVIDIA deletes its images six months after their end of life."""


def repository_of(image: str) -> str:
    """`host:5000/a/b:tag@sha256:…` -> `host:5000/a/b`."""
    return re.sub(r":[^/:]*$", "", image.split("@")[0])


def tag_of(image: str) -> str:
    """The tag, or ""."""
    name = image.split("@")[0]
    return name[len(repository_of(name)) + 1 :]


def lane_of(stage: Stage) -> Lane | None:
    """The platform's lane that a stage builds FROM, as far as it can be seen."""
    if stage.image is None:
        return None
    return next((lane for lane in lanes() if repository_of(stage.image) == lane.image), None)


def base_of(dockerfile: Dockerfile) -> Stage | None:
    """The stage that the last one rests on, through earlier stages; None when there is no FROM."""
    bases = {stage.name: stage for stage in dockerfile.stages if stage.name}
    stage = dockerfile.stages[-1] if dockerfile.stages else None
    for _ in dockerfile.stages:
        if stage is None or stage.image not in bases:
            break
        stage = bases[stage.image]
    return stage


def last_lane(dockerfile: Dockerfile) -> Lane | None:
    """The lane that the image rests on, as far as it can be seen."""
    stage = base_of(dockerfile)
    return lane_of(stage) if stage else None


def _outer_stages(dockerfile: Dockerfile) -> Iterator[tuple[Stage, str]]:
    """Stages that come from outside this file, with their image."""
    earlier: set[str] = {"scratch"}
    for stage in dockerfile.stages:
        if stage.image is not None and stage.image not in earlier:
            yield stage, stage.image
        earlier.add(stage.name)


def has_a_base(dockerfile: Dockerfile) -> Iterator[Hit]:
    """The first instruction, after ARG, is FROM."""
    first = next((entry for entry in dockerfile.instructions if entry.name != "ARG"), None)
    if first is None or first.name != "FROM":
        line = first.line if first else 1
        yield Hit(line, "no FROM before it", f"Type: {_use_lane()}")


def is_an_instruction(dockerfile: Dockerfile) -> Iterator[Hit]:
    """Every line is an instruction, or continues one."""
    for entry in dockerfile.instructions:
        if not INSTRUCTION.fullmatch(entry.name):
            yield Hit(
                entry.line,
                f"found {entry.name[:40]}, which is no instruction",
                "Type: \\ at the end of the line before, or RUN.",
            )


def is_a_lane_or_pinned(dockerfile: Dockerfile) -> Iterator[Hit]:
    """FROM names a lane through an ARG (the platform sets it), or an image by digest."""
    for stage in dockerfile.stages:
        if stage.image is None and not stage.by_argument:
            yield Hit(stage.line, f"FROM {stage.written} depends on an ARG without a value", f"Type: {_use_lane()}")
    for stage, image in _outer_stages(dockerfile):
        if not DIGEST.search(image) and not (stage.by_argument and lane_of(stage)):
            message = f"FROM {stage.written} is neither a lane through ARG nor pinned by digest, so it can change"
            yield Hit(stage.line, message, f"Type: {_use_lane()}, or {repository_of(image)}@sha256:… ")


def is_not_latest(dockerfile: Dockerfile) -> Iterator[Hit]:
    """`latest`, and no tag at all, is whatever was pushed last."""
    for stage, image in _outer_stages(dockerfile):
        if not DIGEST.search(image) and tag_of(image) in ("", "latest"):
            message = f"{image} means the newest version, which differs from build to build"
            yield Hit(stage.line, message, f"Type: {repository_of(image)}:version or a lane: {_use_lane()}")


def _cuda_stages(dockerfile: Dockerfile) -> Iterator[tuple[Stage, str]]:
    for stage, image in _outer_stages(dockerfile):
        if repository_of(image).endswith("nvidia/cuda"):
            yield stage, tag_of(image)


def has_a_full_cuda_tag(dockerfile: Dockerfile) -> Iterator[Hit]:
    """NVIDIA publishes x.y.z-(base|runtime|devel)-os only; un-suffixed tags are gone."""
    for stage, tag in _cuda_stages(dockerfile):
        if tag and not _CUDA_TAG.fullmatch(tag):
            message = f"nvidia/cuda:{tag} has no operating system or no full version, such tags do not exist"
            yield Hit(
                stage.line,
                message,
                f"Type: nvidia/cuda:13.2.1-base-ubuntu24.04, or {_use_lane('current')}",
            )


def has_living_cuda(dockerfile: Dockerfile) -> Iterator[Hit]:
    """CUDA below OLDEST_CUDA is at its end of life."""
    for stage, tag in _cuda_stages(dockerfile):
        major = re.match(r"\d+", tag)
        if major and int(major[0]) < OLDEST_CUDA:
            message = (
                f"CUDA {tag.split('-')[0]} is at its end of life: its images get deleted, PyTorch has no wheels for it"
            )
            yield Hit(stage.line, message, f"Type: {_use_lane('current')}")


def _use_lane(name: str = "cpu") -> str:
    image = next(lane.image for lane in lanes() if lane.name == name)
    return f"ARG LANE={image}:version and FROM ${{LANE}}"


def lane_mismatch(dockerfile: Dockerfile, lane: Lane | None, accelerators: str) -> Iterator[Hit]:
    """The image must have code for the declared accelerators."""
    used = last_lane(dockerfile)
    if used and lane and used is not lane and not set(lane.architectures) <= set(used.architectures):
        message = (
            f"the image builds on the lane {used.name} ({used.title}), [hardware] {accelerators} needs {lane.name}"
        )
        yield Hit(dockerfile.stages[-1].line, message, f"Type: {_use_lane(lane.name)}")


def cuda_mismatch(dockerfile: Dockerfile, accelerators: Iterable[str]) -> Iterator[Hit]:
    """An image of the project's own, by its CUDA version: the declared accelerators must be able to run it."""
    for stage, tag in _cuda_stages(dockerfile):
        cuda = re.match(r"\d+\.\d+", tag)
        if cuda is None:
            continue
        for name in accelerators:
            device = device_of(name)
            answer = compatible(device, Image(cuda[0]))
            lane = None if answer.ok else suggested(device)
            if lane:
                yield Hit(stage.line, f"{name}: {answer.message}", f"Type: {_use_lane(lane.name)}")


RULES = (
    Rule("no-from", "error", has_a_base),
    Rule("unknown-instruction", "error", is_an_instruction),
    Rule("from-lane", "error", is_a_lane_or_pinned),
    Rule("from-latest", "error", is_not_latest),
    Rule("cuda-tag", "error", has_a_full_cuda_tag),
    Rule("cuda-end-of-life", "error", has_living_cuda),
)
