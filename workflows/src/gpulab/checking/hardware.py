"""Would it run on the declared accelerators? One line each: memory, dtypes, lane."""

from collections.abc import Mapping
from typing import Any

from gpulab.contract.finding import LAB, ContractError, Finding
from gpulab.contract.lab import Lab
from gpulab.contract.lanes import common_lane
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
    remarks = [Finding("info", LAB, "[hardware]", f"image lane {lane.name} ({lane.title})")] if lane and rows else []
    return [*refused, *map(_row, rows), *remarks]


def _row(row: Mapping[str, Any]) -> Finding:
    where, dtypes = f"[hardware] {row['accelerator']}", one_of(f"{name} {how}" for name, how in row["dtypes"].items())
    if row["fits"] is None:
        return Finding("info", LAB, where, f"{row['title']}: memory unknown for this family; {dtypes}")
    memory = f"needs {row['need_gib']} GiB of {row['have_gib']} GiB, largest batch {row['largest_batch']}"
    if row["fits"]:
        return Finding("info", LAB, where, f"{row['title']}: fits, {memory}; {dtypes}")
    hint = f"Type: shape = [{max(row['largest_batch'], 1)}, …] in [[inputs]]."
    return Finding("warning", LAB, where, f"{row['title']}: does not fit with this batch, {memory}", hint)
