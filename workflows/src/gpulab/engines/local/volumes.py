"""Volumes of a pod that a container must not write: made read-only, and compared afterwards.

A student's step and the judge share a machine here, and root may write what is read-only. So a container that changed
such a volume fails, and what it changed is used by nobody.
"""

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path


class ReadOnly:
    """Keeps volumes read-only until `release`, which names those that changed nevertheless."""

    def __init__(self, volumes: Mapping[str, Path]) -> None:
        self._volumes = dict(volumes)
        self._digests = {name: digest(folder) for name, folder in volumes.items()}
        self._modes = [mode for folder in volumes.values() for mode in _without_write(folder)]

    def release(self) -> list[str]:
        """Make them writable again; the names of those that changed."""
        for path, mode in reversed(self._modes):
            if path.exists() and not path.is_symlink():
                path.chmod(mode)
        return [name for name, folder in self._volumes.items() if _digest_or_none(folder) != self._digests[name]]


def digest(folder: Path) -> str:
    """SHA-256 over names, kinds and contents below a folder."""
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        total.update(f"{path.relative_to(folder)}\0{stat.S_IFMT(mode)}\0".encode(errors="surrogateescape"))
        if stat.S_ISLNK(mode):
            total.update(os.fsencode(path.readlink()))
        elif stat.S_ISREG(mode):
            with path.open("rb") as file:
                total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()


def _digest_or_none(folder: Path) -> str | None:
    try:
        return digest(folder)
    except OSError:
        return None


def _without_write(folder: Path) -> Iterator[tuple[Path, int]]:
    for path in [folder, *folder.rglob("*")]:
        mode = path.lstat().st_mode
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            path.chmod(stat.S_IMODE(mode) & ~0o222)
            yield path, stat.S_IMODE(mode)
