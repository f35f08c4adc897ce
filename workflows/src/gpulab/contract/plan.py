"""From the contract to "gpulab/plan/v1": what the run will do, refused in seconds when it cannot work.

Nothing is queued for a project whose weights are larger than the device, that no image lane serves, or whose
Dockerfile has a banned line.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

from gpulab.contract import known
from gpulab.contract.dockerfile import lint
from gpulab.contract.environment import environment_findings
from gpulab.contract.finding import ContractError, Finding, errors_of, wrong
from gpulab.contract.lab import Lab
from gpulab.contract.lanes import Lane, common_lane, lanes
from gpulab.contract.repository import RepositoryFacts
from gpulab.contract.spec import spec_of
from gpulab.contract.words import one_of

SCHEMA = "gpulab/plan/v1"
GIB = 2**30

COMPARED = ("t4", "v100-16", "a100-40")
"""What every report answers "would it run on …?" for, declared or not."""


def make_plan(lab: Lab, facts: RepositoryFacts, revision: str) -> dict[str, Any]:
    """The plan of one commit: plain JSON values, the same for the same contract, files and revision.

    Args:
        revision: the commit, 40 hexadecimal digits; the seed of the platform's inputs is derived from it.

    Raises:
        ContractError: the run could not succeed, with every reason.
        ValueError: `revision` is not 40 hexadecimal digits.
    """
    dockerfile = lint(facts.dockerfile, lab.hardware.accelerators)
    refused = errors_of([*misfits(lab), *dockerfile, *environment_findings(facts)])
    lane = common_lane(lab.hardware.accelerators)
    if refused or lane is None:
        raise ContractError(refused)
    return {
        "schema": SCHEMA,
        "spec": spec_of(lab),
        "accelerators": list(lab.hardware.accelerators),
        "lane": lane.name,
        "seed": seed_of(revision),
        "hardware": hardware_card(lab, COMPARED),
        "notes": list(_notes(lab, lane)),
    }


def seed_of(revision: str) -> int:
    """The seed of a commit's inputs: 31 bits, so that no JSON reader rounds it.

    Raises:
        ValueError: `revision` is not 40 hexadecimal digits.
    """
    if not re.fullmatch(r"[0-9a-f]{40}", revision):
        raise ValueError(f"a revision has 40 hexadecimal digits, found {revision!r}")
    return int.from_bytes(hashlib.sha256(f"gpulab/seed/v1 {revision}".encode()).digest()[:4], "big") >> 1


def hardware_card(lab: Lab, compared: Sequence[str] = ()) -> list[dict[str, Any]]:
    """One row per declared accelerator: does it fit, which dtypes, which lane (`model_tests.hardware.card`).

    Args:
        compared: more names, told after the declared ones.

    Raises:
        ContractError: the memory formulas cannot use the configuration.
    """
    from model_tests import hardware, memory

    try:
        return list(hardware.card(spec_of(lab), list(dict.fromkeys([*lab.hardware.accelerators, *compared]))))
    except memory.MemoryInputError as error:
        raise ContractError([_unusable(error)]) from None


def misfits(lab: Lab) -> Iterator[Finding]:
    """Why the declared accelerators cannot run this model: weights larger than memory, or no common lane."""
    for place, name in enumerate(lab.hardware.accelerators):
        yield from _too_large(lab, f"[hardware] accelerators[{place}]", name)
    if common_lane(lab.hardware.accelerators) is None:
        serves = "; ".join(f"{lane.name}: {one_of(_served(lane, lab))}" for lane in lanes() if lane.cuda)
        yield wrong(
            "[hardware] accelerators",
            f"no image lane runs on all of {one_of(lab.hardware.accelerators)} (lane {serves})",
            "Type: only accelerators of one lane.",
        )


def _served(lane: Lane, lab: Lab) -> list[str]:
    catalogue = known.accelerators()
    return [name for name in lab.hardware.accelerators if lane.runs_on(catalogue[name].compute_capability)]


def _too_large(lab: Lab, where: str, name: str) -> Iterator[Finding]:
    """The proof runs float32 on the device beside every candidate, so float32's weights decide.

    Several GPUs count together: a model may place itself.
    """
    from model_tests import memory

    spec, device = spec_of(lab), known.accelerators()[name]
    gpus = lab.hardware.gpus
    have = lab.limits.memory_gib if device.memory_gib is None else device.memory_gib * gpus
    try:
        fit = memory.fit(spec["family"], memory.config_of(spec), spec["inputs"], "float32", int(have * GIB))
    except memory.MemoryInputError as error:
        yield _unusable(error)
        return
    if fit is None or fit.answer is not memory.Answer.WEIGHTS_TOO_LARGE:
        return
    needed = fit.needed.weights / GIB
    smaller = "a smaller [model.config]" if name == "cpu" else "a larger accelerator or a smaller [model.config]"
    hint = f"Type: {smaller}" + (", or a larger memory_gib in [limits]." if name == "cpu" else ".")
    which = device.title if gpus == 1 else f"{gpus} x {device.title}"
    message = f"the float32 weights alone need {needed:.1f} GiB, {which} has {have:.1f} GiB for the whole process"
    yield wrong(where, message, hint)


def _unusable(error: Exception) -> Finding:
    return wrong("[model.config]", str(error), 'Correct the value, or type: family = "custom" in [model].')


def _notes(lab: Lab, lane: Lane) -> Iterator[str]:
    for name in lab.hardware.accelerators:
        own = common_lane([name])
        if own is not None and own is not lane:
            yield f"{name} runs in lane {lane.name}, which all declared accelerators share (alone: {own.name})"
