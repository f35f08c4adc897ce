"""Would it run on the declared accelerators? One line each: memory, dtypes, lane."""

from collections.abc import Mapping
from typing import Any

from gpulab.contract.finding import LAB, ContractError, Finding
from gpulab.contract.lab import Lab
from gpulab.contract.lanes import Lane, common_lane
from gpulab.contract.plan import hardware_card, misfits
from gpulab.contract.words import one_of


def hardware_findings(lab: Lab) -> list[Finding]:
    """What cannot work (error), what will not fit as it is (warning), and one remark per accelerator."""
    refused = list(misfits(lab))
    try:
        rows = [] if refused else hardware_card(lab)
    except ContractError as error:
        return list(error.problems)
    lane = common_lane(lab.hardware.accelerators)
    remarks = [Finding("info", LAB, "[hardware]", _lane(lane))] if lane and rows else []
    return [*refused, *map(_row, rows), *remarks]


def _lane(lane: Lane) -> str:
    """The node's driver is not known here; `gpulab hardware --driver` compares one."""
    driver = f", driver R{lane.min_driver} or newer" if lane.min_driver else ""
    return f"image lane {lane.name} ({lane.title}{driver})"


def _row(row: Mapping[str, Any]) -> Finding:
    where, dtypes = f"[hardware] {row['accelerator']}", one_of(f"{name} {how}" for name, how in row["dtypes"].items())
    if row["fits"] is None:
        measure = f"measure it: gpulab hardware {row['accelerator']} --dry-run"
        return Finding("info", LAB, where, f"{row['title']}: memory unknown for this family ({measure}); {dtypes}")
    memory = f"needs {row['need_gib']} GiB of {row['have_gib']} GiB, largest batch {row['largest_batch']}"
    if row["gpus"] > 1:
        memory += f" on one of {row['gpus']} GPUs ({row['together']['have_gib']} GiB together)"
    if row["fits"]:
        return Finding("info", LAB, where, f"{row['title']}: fits, {memory}; {dtypes}")
    if row["together"]["fits"]:
        hint = "It runs only if your factory spreads the model over the GPUs itself (Hugging Face: device_map)."
        return Finding("warning", LAB, where, f"{row['title']}: fits on all GPUs together only, {memory}", hint)
    hint = f"Type: shape = [{max(row['largest_batch'], 1)}, …] in [[inputs]]."
    return Finding("warning", LAB, where, f"{row['title']}: does not fit with this batch, {memory}", hint)
