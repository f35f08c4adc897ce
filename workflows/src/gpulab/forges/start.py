"""The commit that a deploy branch of a hosted forge begins with: no release yet.

A pull request needs its base to exist and to share its history, and GitHub protects a branch only once it is there. So
`gpulab project connect` makes both deploy branches point to this commit, whose tree is empty and whose id is the same
everywhere; to everything above the forges it is as if there were no branch.
"""

import hashlib

from gpulab.events import NOTHING_RELEASED
from gpulab.forges.local.git import Git

PERSON = "gpulab <gpulab@localhost> 946684800 +0000"
EMPTY_TREE = hashlib.sha1(b"tree 0\0", usedforsecurity=False).hexdigest()
TEXT = f"tree {EMPTY_TREE}\nauthor {PERSON}\ncommitter {PERSON}\n\nNothing is released yet\n".encode()
START = NOTHING_RELEASED


def store_start(git: Git) -> str:
    """Put the commit into a repository; its id."""
    git.run("hash-object", "-t", "tree", "-w", "--stdin")
    return git.text("hash-object", "-t", "commit", "-w", "--stdin", stdin=TEXT)
