"""Lay out the files of a tar below a folder, none outside it.

`tarfile`'s own filters came with Python 3.11.4, and Debian 12 has 3.11.2: the rules are stated here, and hold on all.
"""

import os
import tarfile
from pathlib import Path
from typing import Any

FILTER: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}


class OutsideError(ValueError):
    """A member whose path, or the target of whose link, is not below the folder, or that is a device or a pipe."""

    def __init__(self, name: str, found: str) -> None:
        self.name, self.found = name, found
        super().__init__(f"{name}: {found}")


def extract(tar: tarfile.TarFile, folder: Path) -> None:
    """Extract every member.

    Raises:
        OutsideError: a member may not be laid out; the ones before it are.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for member in tar:
        extract_member(tar, member, folder)


def extract_member(tar: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    """Extract one member: a file, a folder, or a relative link that stays below the folder.

    Raises:
        OutsideError: it is something else.
    """
    if found := refused(member, folder):
        raise OutsideError(member.name, found)
    member.mode = (member.mode or 0o644) & 0o755
    tar.extract(member, folder, numeric_owner=False, **FILTER)


def refused(member: tarfile.TarInfo, folder: Path) -> str:
    """Why a member is not laid out; empty when it is.

    Real paths are compared, because a link that was laid out before may lead elsewhere than its name says.
    """
    if not (member.isreg() or member.isdir() or member.issym()):
        return "neither a file, nor a folder, nor a symbolic link"
    if not _below(folder, folder / member.name):
        return "its path leads out of the folder"
    return leads_out(folder, member.name, member.linkname) if member.issym() else ""


def leads_out(folder: Path, name: str, target: str) -> str:
    """Why a link named `name` below a folder may not lead to `target`; empty when it may."""
    if target.startswith(("/", "\\")) or Path(target).is_absolute():
        return f"a link to the absolute path {target}"
    if not _below(folder, (folder / name).parent / target):
        return f"a link that leads out of the folder, to {target}"
    return ""


def _below(folder: Path, path: Path) -> bool:
    root = os.path.realpath(folder)
    real = os.path.realpath(path)
    return real == root or real.startswith(root.rstrip(os.sep) + os.sep)
