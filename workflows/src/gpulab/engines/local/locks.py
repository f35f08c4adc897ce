"""Mutexes between nodes and between runs: file locks in the engine's home, freed by the system when a run dies."""

import fcntl
import os
from pathlib import Path
from urllib.parse import quote


class Mutexes:
    """The mutexes that this run holds, per holder (a node's id; "" is the workflow itself)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._held: dict[str, list[int]] = {}

    def acquire(self, holder: str, names: list[str]) -> bool:
        """All of the names or none; True when the holder has them (also when it had them before)."""
        if holder in self._held or not names:
            return True
        self.folder.mkdir(parents=True, exist_ok=True)
        taken: list[int] = []
        for name in sorted(set(names)):
            descriptor = os.open(self.folder / f"{quote(name, safe='')}.lock", os.O_RDWR | os.O_CREAT, 0o644)
            taken.append(descriptor)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                _close(taken)
                return False
        self._held[holder] = taken
        return True

    def release(self, holder: str) -> None:
        """Give back what the holder has, if anything."""
        _close(self._held.pop(holder, []))


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
