"""What Git carries that it should not: weights, large files, rejected patches."""

import subprocess
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from gpulab.contract.finding import Finding
from gpulab.contract.links import links
from gpulab.errors import PlatformError
from gpulab.forges.local.blobs import heavy_blobs
from gpulab.forges.local.git import Git, clean_environment
from gpulab.weights import RIGHT_WAY, Heavy, heavy, undo

SECONDS = 10


def committed_findings(root: Path, paths: Iterable[str]) -> list[Finding]:
    """Problems of a commit's files, laid out in a folder without Git."""
    return [finding for path in sorted(paths) for finding in _finding(root, path, _size(root / path))]


def tracked_findings(root: Path) -> list[Finding]:
    """The same of a working tree: what the next commit would hold, and what commits not yet pushed hold."""
    if _git(root, "rev-parse", "--git-dir") is None:
        return [_unread(root)]
    sizes = dict(tracked_files(root))
    found = [finding for path, size in sorted(sizes.items()) for finding in _finding(root, path, size)]
    return [*found, *(_in_history(one) for one in _unpushed(root) if not heavy(one.path, sizes.get(one.path, 0)))]


def tracked_files(root: Path) -> list[tuple[str, int]]:
    """Files in Git's index below a folder, with their sizes there; [] when Git is missing or there is no repository."""
    staged = _git(root, "ls-files", "-s", "-z") or b""
    rows = [row.partition("\t") for row in staged.decode("utf-8", errors="surrogateescape").split("\0") if row]
    files = [(facts.split(" ")[1], path) for facts, _, path in rows if not facts.startswith(GITLINK)]
    asked = "".join(f"{blob}\n" for blob, _ in files).encode()
    told = _git(root, "cat-file", "--batch-check=%(objectsize)", stdin=asked) or b""
    sizes = [int(line) if line.isdigit() else 0 for line in told.decode().splitlines()]
    return [(path, size) for (_, path), size in zip(files, sizes, strict=False)]


GITLINK = "160000"
"""The mode of a submodule, which is no file."""


def _unpushed(root: Path) -> list[Heavy]:
    head = _git(root, "rev-parse", "--verify", "--quiet", "HEAD")
    try:
        return heavy_blobs(root, [head.decode().strip()] if head else [], ("--remotes",), clean_environment())
    except PlatformError:
        return []


def _in_history(one: Heavy) -> Finding:
    message = f"{one.message}; it is in a commit that is not pushed yet, although a later one removed or replaced it"
    return Finding("error", one.path, "", message, f"{RIGHT_WAY} Type: git rebase -i, and drop it from that commit.")


def _finding(root: Path, path: str, size: int) -> Iterator[Finding]:
    if path.endswith(".rej"):
        message = "a part of a template update that did not fit, and is not in the project"
        yield Finding("error", path, "", message, f"Apply it by hand, then: git rm {path}")
    elif found := heavy(path, size):
        yield Finding("error", path, "", found.message, f"{RIGHT_WAY} Type: {undo(path)}")
    elif link := links(root, path):
        yield link


def _unread(root: Path) -> Finding:
    trouble = ""
    with suppress(PlatformError):  # no git here: there is nothing to ask
        trouble = Git(root).trouble
    if trouble:
        return Finding("error", ".git", "", f"git does not read it: {trouble}", "Do what git says there.")
    message = "the project is no git repository, and git push is how it is released"
    return Finding("warning", ".git", "", message, "Type: git init -b main && git add -A && git commit -m Start")


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def _git(root: Path, *arguments: str, stdin: bytes = b"") -> bytes | None:
    command = ["git", "-c", "core.fsmonitor=false", "-C", str(root), *arguments]
    try:
        done = subprocess.run(
            command, input=stdin, env=clean_environment(), capture_output=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
