"""A container's absolute paths, on a machine where it has no file system of its own.

Every path that the template declares (mounts, artifacts, parameters, working directory, message file) lies below a
folder that belongs to the pod; where the command, its arguments or its environment name such a path, or one below it,
the text is changed to the real one.
"""

import posixpath
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from gpulab.system import SYSTEM


class PathMap:
    """From declared to real paths, for one container.

    Args:
        root: the container's own folder, which stands for `/`.
        mounts: the folders of its volumes, by mount path.
        declared: further absolute paths that the template names.
    """

    def __init__(self, root: Path, mounts: Mapping[str, Path], declared: Iterable[str]) -> None:
        self.root = root
        self._mounts = {posixpath.normpath(path): folder for path, folder in mounts.items()}
        known = {posixpath.normpath(path) for path in declared if path.startswith("/")} | set(self._mounts)
        known.discard("/")
        longest = sorted(known, key=lambda path: (-len(path), path))
        choice = "|".join(re.escape(path) for path in longest)
        self._pattern = re.compile(rf"(?<![\w./-])(?:{choice})(?=/|$|[^\w./-])") if known else None

    def real(self, path: str) -> Path:
        """Where a declared path lies: in the volume mounted deepest above it, else in the container's folder."""
        path = posixpath.normpath(path)
        for mount in sorted(self._mounts, key=len, reverse=True):
            if path == mount or path.startswith(f"{mount}/"):
                return self._mounts[mount] / path.removeprefix(mount).lstrip("/")
        return self.root / path.lstrip("/")

    def text(self, text: str) -> str:
        """The text with every declared path made real; `/app:/app/src`, `--out=/app/x` work, `/apple` is left."""
        if not self._pattern:
            return text
        return self._pattern.sub(lambda match: self.real(match[0]).as_posix(), text)


@contextmanager
def plain_path(folder: Path) -> Iterator[Path]:
    """A path to the folder that a shell reads as one word, whatever the folder is called (`My GPU lab (2)`).

    Real paths are put into scripts and into lists like PYTHONPATH, where a space or a colon would split them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if not SYSTEM.has_shell or re.fullmatch(r"[\w./-]+", str(folder), re.ASCII):
        yield folder
        return
    aside = Path(tempfile.mkdtemp(prefix="gpulab-"))
    try:
        link = aside / "pods"
        link.symlink_to(folder, target_is_directory=True)
        yield link
    finally:
        shutil.rmtree(aside, ignore_errors=True)
