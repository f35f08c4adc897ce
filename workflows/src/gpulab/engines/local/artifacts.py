"""The artifact store: key-only S3 artifacts as files below one folder.

As in S3, a key that is a prefix of others stands for all of them: it gives a folder.
"""

import os
import shutil
import stat
import tempfile
from pathlib import Path, PurePosixPath

from gpulab.system import SYSTEM


class ArtifactError(Exception):
    """An artifact cannot be stored or loaded."""


class ArtifactStore:
    """Artifacts by key, below `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, key: str) -> Path:
        """Where the artifact lies.

        Raises:
            ArtifactError: the key is empty, absolute or climbs out of the store.
        """
        parts = PurePosixPath(key).parts
        if not parts or key.startswith("/") or ".." in parts or "\0" in key:
            raise ArtifactError(f"{key!r} is no key: it has to be relative, without '..'")
        return self.root.joinpath(*parts)

    def load(self, key: str, target: Path) -> bool:
        """Copy an artifact (or all below a prefix) to `target`; False when there is none."""
        source = self.path(key)
        if not source.exists():
            return False
        target.parent.mkdir(parents=True, exist_ok=True)
        _copy(source, target)
        return True

    def save(self, source: Path, key: str, within: Path) -> bool:
        """Store a file or folder under a key, whole or not at all; False when there is nothing at `source`.

        Args:
            within: where the source has to lie really: a link that leads out of the pod is not followed.
        """
        if not source.exists():
            return False
        if not source.resolve().is_relative_to(within.resolve()):
            raise ArtifactError(f"{source.name} is a link that leads out of the pod")
        target = self.path(key)
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.root, prefix=".new-") as scratch:
            fresh = Path(scratch, "artifact")
            _copy(source, fresh)
            if target.is_dir():
                target.rename(Path(scratch, "old"))
            SYSTEM.replace(fresh, target)
        return True


def _copy(source: Path, target: Path) -> None:
    """Copy regular files; links and devices inside a folder are left out (S3 has neither)."""
    if source.is_file():
        shutil.copyfile(source, target)
        return
    if not source.is_dir():
        raise ArtifactError(f"{source.name} is neither a file nor a folder")
    target.mkdir(exist_ok=True)
    with os.scandir(source) as entries:
        for entry in entries:
            if entry.name.startswith(".new-"):
                continue
            mode = entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
                _copy(Path(entry.path), target / entry.name)
