"""The baselines of a run, as its plan names them, and their sources as a tar: data, and one careful unpacking.

A baseline is the project's own older code: as little trusted as the newer.
"""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model_tests.tar_files import OutsideError, extract_member

NAMES = ("teaching", "production", "anchor")
REASONS = (
    "no-release",
    "itself",
    "same-as-teaching",
    "same-as-production",
    "other-lock",
    "other-model",
    "other-inputs",
    "other-dtype",
    "too-large",
    "unreadable",
)
"""Why there is nothing to compare with; the texts are `speed.<reason>` in the messages."""

LARGEST = 32 * 2**20
MOST_MEMBERS = 4096


@dataclass(frozen=True)
class Baseline:
    """One baseline.

    Attributes:
        name: which one, of NAMES.
        commit: 40 hexadecimal digits, "" when there is none.
        reason: of REASONS; "" when it can be compared with.
        factory: `module:function` in its own source.
        seed: of its weights.
    """

    name: str
    commit: str = ""
    reason: str = ""
    factory: str = ""
    seed: int = 0

    @property
    def gate(self) -> str:
        """The gate that tells its outcome."""
        return f"speed/{self.name}"


def from_plan(file: Path) -> list[Baseline]:
    """Return the baselines of a plan; none when the file has none, or is no plan (a spec alone)."""
    try:
        raw = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    listed = raw.get("baselines") if isinstance(raw, dict) else None
    return [Baseline(**row) for row in listed if _is_baseline(row)] if isinstance(listed, list) else []


def comparable(baselines: Iterable[Baseline]) -> list[Baseline]:
    """Return those that the candidate is timed against."""
    return [one for one in baselines if not one.reason]


def _is_baseline(row: Any) -> bool:
    return (
        isinstance(row, dict)
        and set(row) == set(Baseline.__dataclass_fields__)
        and row["name"] in NAMES
        and row["reason"] in ("", *REASONS)
        and re.fullmatch(r"([0-9a-f]{40})?", str(row["commit"])) is not None
        and isinstance(row["factory"], str)
        and isinstance(row["seed"], int)
    )


def unpack(archive: Path, folder: Path) -> None:
    """Lay the sources out below `folder`, a folder for each baseline; an archive that is missing or empty has none.

    Raises:
        ValueError: it is no tar, or larger than allowed, or has a member that leads out of the folder.
    """
    if not archive.is_file() or not archive.stat().st_size:
        return
    try:
        with tarfile.open(archive, mode="r:") as tar:
            for count, member in enumerate(tar):
                if count >= MOST_MEMBERS or member.offset_data + member.size > LARGEST:
                    raise ValueError(f"the sources of the baselines are more than {LARGEST} bytes")
                if member.isreg() or member.isdir():
                    extract_member(tar, member, folder)
    except (tarfile.TarError, OSError, OutsideError) as error:
        raise ValueError(f"the sources of the baselines cannot be unpacked: {error}") from error
