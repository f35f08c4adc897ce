"""Volumes of a pod that a container must not write: made read-only, and compared afterwards.

A student's step and the judge share a machine here, and root may write what is read-only. So a container that changed
such a volume fails, and what it changed is used by nobody.
"""

import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

State = dict[str, tuple[int | str, ...]]
"""By path below a volume: what any change to it changes too."""


class ReadOnly:
    """Keeps volumes read-only until `release`, which names those that changed nevertheless."""

    def __init__(self, volumes: Mapping[str, Path]) -> None:
        self._volumes = dict(volumes)
        self._modes = [mode for folder in volumes.values() for mode in _without_write(folder)]
        self._states = {name: state(folder) for name, folder in volumes.items()}

    def release(self) -> list[str]:
        """Make them writable again; the names of those that changed."""
        changed = [name for name, folder in self._volumes.items() if _state_or_none(folder) != self._states[name]]
        for path, mode in reversed(self._modes):
            if path.exists() and not path.is_symlink():
                path.chmod(mode)
        return changed


def state(folder: Path) -> State:
    """Every entry below a folder, with its inode, kind, size and times.

    Nobody can set the time of the last change (ctime) back. So no content is read: a student's sparse file of a
    terabyte would take hours.
    """
    return {str(path.relative_to(folder)): _entry(path) for path in folder.rglob("*")}


def _entry(path: Path) -> tuple[int | str, ...]:
    info = path.lstat()
    link = str(path.readlink()) if stat.S_ISLNK(info.st_mode) else ""
    return info.st_ino, info.st_mode, info.st_size, info.st_mtime_ns, info.st_ctime_ns, link


def _state_or_none(folder: Path) -> State | None:
    try:
        return state(folder)
    except OSError:
        return None


def _without_write(folder: Path) -> Iterator[tuple[Path, int]]:
    for path in [folder, *folder.rglob("*")]:
        mode = path.lstat().st_mode
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            path.chmod(stat.S_IMODE(mode) & ~0o222)
            yield path, stat.S_IMODE(mode)
