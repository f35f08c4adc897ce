"""`gpulab hardware`: the catalogue of cards, this project's fit on one of them, and whether its CUDA runs there."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from gpulab.cli.words import say
from gpulab.contract import known
from gpulab.contract.lab import Lab
from gpulab.contract.lanes import common_lane, device_of, suggested
from gpulab.contract.plan import hardware_card
from gpulab.contract.read import read_lab
from gpulab.contract.words import did_you_mean, one_of
from gpulab.errors import InputError
from gpulab.hardware.found import Found, found_gpus
from gpulab.home import find_project

ROW = "{:<9} {:>8} {:>8} {:>6} {:>6} {:>6}  {:<8} {}"


def hardware(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="One card; default: all of them.")] = "",
    driver: Annotated[str, typer.Option("--driver", help="The node's driver, e.g. 550.54.15.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Measure a model that has no formula.")] = False,
) -> None:
    """Say which cards there are, and what this project needs of one."""
    cards = known.accelerators()
    if name and name not in cards:
        raise InputError(f"{name!r} is not in the catalogue: {one_of(cards)}{did_you_mean(name, cards)}")
    if driver:
        refuse_no_driver(driver)
    for line in one_card(name, driver, dry_run) if name else all_cards(driver):
        say(line)


def refuse_no_driver(driver: str) -> None:
    """A driver's version has three numbers, of which the first decides.

    Raises:
        InputError: it is none.
    """
    parts = driver.split(".")
    if not (1 <= len(parts) <= 4 and all(part.isascii() and part.isdigit() and len(part) < 5 for part in parts)):
        raise InputError(f"--driver: found {driver!r}, a driver's version looks like 550.54.15 (nvidia-smi shows it)")


def all_cards(driver: str) -> Iterator[str]:
    """The catalogue as a table, then what is in this machine."""
    yield ROW.format("name", "GiB", "GB/s", "fp32", "fp16", "bf16", "CUDA cc", "image lane")
    for name, card in known.accelerators().items():
        tops = [_number(card.peak_tflops.get(dtype)) for dtype in ("float32", "float16", "bfloat16")]
        memory = "limits" if card.memory_gib is None else f"{card.memory_gib:.1f}"
        lane = suggested(device_of(name, driver))
        said = lane.name if lane else f"none with driver {driver}"
        yield ROW.format(name, memory, _number(card.bandwidth_gbs), *tops, card.compute_capability or "-", said)
    yield "fp32, fp16, bf16: dense peak in TFLOP/s. One card with this project's needs: gpulab hardware NAME"
    yield from here(found_gpus())


def here(gpus: list[Found]) -> Iterator[str]:
    """What NVML sees in this machine."""
    if not gpus:
        yield "This machine: no NVIDIA GPU (NVML finds none)."
    for gpu in gpus:
        yield (
            f"This machine: {gpu.title}, {gpu.memory_gib:.1f} GiB, compute capability {gpu.compute_capability}, driver "
            f"{gpu.driver}" + (f" = {gpu.name} of the catalogue" if gpu.name else ", not in the catalogue")
        )


def one_card(name: str, driver: str, dry_run: bool) -> Iterator[str]:
    """One card's facts, what this project needs of it, and whether its image runs with a driver."""
    card, device = known.accelerators()[name], device_of(name, driver)
    yield f"{card.title}: compute capability {card.compute_capability or '-'}, native {one_of(card.native_dtypes)}"
    lane = suggested(device)
    if lane is None:
        yield f"no image lane runs on it with driver {driver}"
    else:
        yield f"image lane {lane.name}: {lane.title}. {lane.on(device).message}"
    try:
        root = find_project(Path.cwd())
    except InputError:
        yield "Not in a project: type this in yours to see whether it fits."
        return
    lab = read_lab(root)
    yield from fit(root, lab, name, dry_run)
    own = common_lane(lab.hardware.accelerators)
    if own is not None and own is not lane:
        answer = own.on(device)
        yield f"this project's lane {own.name}: {'runs' if answer.ok else 'does not run'} there: {answer.message}"


def fit(root: Path, lab: Lab, name: str, dry_run: bool) -> Iterator[str]:
    """Memory per dtype, from the formula of the family or a dry run of the project's own code.

    Raises:
        ContractError: the formula cannot use the configuration.
    """
    row = hardware_card(lab, [name])[-1] if name not in lab.hardware.accelerators else _row(lab, name)
    if dry_run or row["fits"] is None:
        yield from _measured(root, lab, row) if dry_run else [f"memory: {row['note']}"]
        return
    for dtype, memory in row["memory"].items():
        word = "fits" if memory["fits"] else "does not fit"
        yield (
            f"{dtype}: {word}, needs {memory['need_gib']} GiB of {row['have_gib']} GiB, largest batch "
            f"{memory['largest_batch']}"
        )
    if row["note"]:
        yield row["note"]


def _row(lab: Lab, name: str) -> dict[str, Any]:
    return next(row for row in hardware_card(lab) if row["accelerator"] == name)


def _measured(root: Path, lab: Lab, row: dict[str, Any]) -> Iterator[str]:
    from gpulab.hardware.dryrun import measure

    for dtype, need in measure(root, lab).items():
        word = "fits" if need <= row["have_gib"] else "does not fit"
        yield f"{dtype}: {word}, needs {need:.2f} GiB of {row['have_gib']} GiB (dry run of {lab.model.factory})"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"
