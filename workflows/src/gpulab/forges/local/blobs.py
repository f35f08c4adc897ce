"""Which weights and large files a range of commits brings along, added and removed again included.

Two git processes whatever the number of files: `rev-list --objects` names the new objects, `cat-file --batch-check`
their sizes. In a pre-receive hook git keeps new objects aside (GIT_OBJECT_DIRECTORY), so it runs with the hook's own
environment.
"""

import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from gpulab.errors import PlatformError
from gpulab.weights import Heavy, heavy


def heavy_blobs(
    repository: Path,
    new: Iterable[str],
    known: Iterable[str] = ("--all",),
    environment: Mapping[str, str] | None = None,
) -> list[Heavy]:
    """Files that are refused, among those that `new` commits have and `known` ones do not; the largest first.

    Args:
        repository: a working tree or a bare repository.
        new: full ids of commits; git's id of nothing (a deleted ref) is left out.
        known: what rev-list is told after `--not`: the refs that are there already.
        environment: of git; this process's own when None.

    Raises:
        PlatformError: git is missing or cannot read the repository.
    """
    tips = [name for name in new if name.strip("0")]
    if not tips:
        return []
    listed = _git(repository, environment, b"", "rev-list", "--objects", *tips, "--not", *known)
    asked = "--batch-check=%(objecttype) %(objectsize) %(rest)"
    told = _git(repository, environment, listed, "cat-file", asked).decode("utf-8", errors="surrogateescape")
    return sorted(set(_refused(told)), key=lambda one: (-one.size, one.path))


def _refused(told: str) -> Iterator[Heavy]:
    for line in filter(None, told.split("\n")):  # a path may hold Unicode's ends of line
        kind, size, path = line.split(" ", 2)
        found = heavy(path, int(size)) if kind == "blob" else None
        if found:
            yield found


def _git(repository: Path, environment: Mapping[str, str] | None, stdin: bytes, *arguments: str) -> bytes:
    command = ["git", "-C", str(repository), *arguments]
    try:
        done = subprocess.run(command, input=stdin, capture_output=True, env=environment or os.environ, check=False)
    except FileNotFoundError:
        raise PlatformError("git is not installed, or not on PATH. Install it, then try again.") from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise PlatformError(f"git {arguments[0]} failed: {said[-1] if said else done.returncode}")
    return done.stdout
