"""Can a claim about speed or memory be true at all? Asked before statistics; pure arithmetic, no torch.

A forward cannot take less time than its operations at the device's peak, nor less than reading what it must read
(the roofline); a process cannot hold less than its weights, nor more than the device has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FLOAT_BITS = {"float64": 64, "float32": 32, "float16": 16, "bfloat16": 16}

Kind = Literal[
    "above-peak",
    "above-bandwidth",
    "weights-do-not-fit",
    "less-than-weights",
    "same-inputs",
    "cast-is-not-quantising",
    "checkpointing-without-gradients",
    "one-rank",
    "timer",
]


@dataclass(frozen=True)
class Device:
    """What a device can do at most: operations and bytes per second, bytes of memory; None where it is not known."""

    peak: float | None = None
    bandwidth: float | None = None
    memory: float | None = None


@dataclass(frozen=True)
class Claim:
    """What is said about runs of a model; None or the default where nothing is said.

    Attributes:
        weights: bytes of the weights in the claimed dtype.
        seconds: one pass of the model; a token of a batch of one is a pass.
        operations: of one pass.
        read: bytes that one pass must read from the device's memory.
        used: bytes of the device's memory that the process takes.
        different_inputs: how many of the `passes` had an input of their own.
        quantised_to: the dtype that is called a quantisation.
        checkpointing, gradients: gradient checkpointing is said to save memory; gradients are kept at all.
        ranks: processes of a collective operation whose speed is claimed.
    """

    weights: float | None = None
    seconds: float | None = None
    operations: float | None = None
    read: float | None = None
    used: float | None = None
    passes: int = 1
    different_inputs: int | None = None
    quantised_to: str = ""
    checkpointing: bool = False
    gradients: bool = True
    ranks: int | None = None


@dataclass(frozen=True)
class Doubt:
    """Why a claim cannot be true, or says nothing: what was claimed, and the most or least that is possible."""

    kind: Kind
    claimed: float | None = None
    limit: float | None = None


def plausible(claim: Claim, device: Device) -> list[Doubt]:
    """Return every reason to doubt the claim; none when it can be true."""
    return [*_memory(claim, device), *_roofline(claim, device), *_method(claim)]


def _memory(claim: Claim, device: Device) -> list[Doubt]:
    found = []
    if claim.weights is not None and device.memory is not None and claim.weights > device.memory:
        found.append(Doubt("weights-do-not-fit", claim.weights, device.memory))
    if claim.weights is not None and claim.used is not None and claim.used < claim.weights:
        found.append(Doubt("less-than-weights", claim.used, claim.weights))
    return found


def _roofline(claim: Claim, device: Device) -> list[Doubt]:
    """Compare rates, so that the doubt says both in the unit of the data sheet."""
    if claim.seconds is None:
        return []
    found: list[Doubt] = []
    parts: tuple[tuple[Kind, float | None, float | None], ...] = (
        ("above-peak", claim.operations, device.peak),
        ("above-bandwidth", claim.read, device.bandwidth),
    )
    for kind, amount, most in parts:
        if amount is not None and most is not None and amount > most * claim.seconds:
            found.append(Doubt(kind, amount / claim.seconds if claim.seconds else None, most))
    return found


def _method(claim: Claim) -> list[Doubt]:
    """What the number says nothing about, however exactly it was measured."""
    found = []
    if claim.different_inputs is not None and claim.different_inputs < claim.passes:
        found.append(Doubt("same-inputs", claim.different_inputs, claim.passes))
    if claim.quantised_to in FLOAT_BITS:
        found.append(Doubt("cast-is-not-quantising", FLOAT_BITS[claim.quantised_to]))
    if claim.checkpointing and not claim.gradients:
        found.append(Doubt("checkpointing-without-gradients"))
    if claim.ranks is not None and claim.ranks < 2:
        found.append(Doubt("one-rank", claim.ranks, 2))
    return found
