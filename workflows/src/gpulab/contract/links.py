"""Links in a commit: what they may lead to is what the commit holds."""

import shlex
from pathlib import Path

from model_tests.tar_files import leads_out

from gpulab.contract.finding import Finding


def links(root: Path, path: str) -> Finding | None:
    """The finding about one file of a folder; None when it is no link, or one that stays inside."""
    link = root / path
    found = leads_out(root, path, str(link.readlink())) if link.is_symlink() else ""
    return link_finding(path, found) if found else None


def link_finding(path: str, found: str) -> Finding:
    """Nobody else has what such a link leads to."""
    message = f"found {found}; allowed: links to files of this repository"
    return Finding("error", path, "", message, f"Type: git rm --cached {shlex.quote(path)}")
