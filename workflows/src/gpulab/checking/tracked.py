"""What Git carries that it should not; best effort: without Git there is nothing to say."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from gpulab.contract.finding import Finding
from gpulab.contract.repository import is_heavy

SECONDS = 10


def tracked_findings(root: Path) -> list[Finding]:
    """Weights and large files (warning), and rejected patches of a template update (error)."""
    return [finding for path in tracked_files(root) for finding in _finding(root, path)]


def tracked_files(root: Path) -> list[str]:
    """Paths that Git tracks below a folder, relative to it; [] when Git is missing or the folder is no repository."""
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "-c", "core.fsmonitor=false", "-C", str(root), "ls-files", "-z"]
    try:
        done = subprocess.run(command, env=surroundings, capture_output=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    names = done.stdout.decode("utf-8", errors="surrogateescape").split("\0") if done.returncode == 0 else []
    return sorted(name for name in names if name)


def _finding(root: Path, path: str) -> Iterator[Finding]:
    if path.endswith(".rej"):
        message = "a part of a template update that did not fit, and is not in the project"
        yield Finding("error", path, "", message, f"Apply it by hand, then: git rm {path}")
    elif is_heavy(root / path):
        mebibytes = (root / path).lstat().st_size / 2**20
        message = f"{mebibytes:.1f} MiB of weights or data in Git, which every clone carries for ever"
        yield Finding("warning", path, "", message, f"Type: git rm --cached {path} and add it to .gitignore")
