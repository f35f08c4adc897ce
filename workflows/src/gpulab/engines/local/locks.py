"""Mutexes between nodes and between runs: file locks in the engine's home, freed by the system when a run dies."""

import hashlib
import os
from pathlib import Path
from urllib.parse import quote

from gpulab.system import SYSTEM


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
            descriptor = os.open(self.folder / _file_name(name), os.O_RDWR | os.O_CREAT, 0o644)
            taken.append(descriptor)
            if not SYSTEM.lock(descriptor, wait=False):
                _close(taken)
                return False
        self._held[holder] = taken
        return True

    def release(self, holder: str) -> None:
        """Give back what the holder has, if anything."""
        _close(self._held.pop(holder, []))


def _file_name(name: str) -> str:
    """A name for every mutex: a file system takes no slash, and at most 255 bytes."""
    plain = quote(name, safe="", errors="surrogatepass")
    short = plain if len(plain) <= 100 else f"{plain[:60]}.{hashlib.sha256(plain.encode()).hexdigest()}"
    return f"{short}.lock"


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
