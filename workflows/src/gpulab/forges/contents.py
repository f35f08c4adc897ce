"""What a commit holds, read and made with git plumbing: no working tree and no hook is in the way."""

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

from model_tests.tar_files import OutsideError, extract

from gpulab.forges.local.git import Git


def heads(told: bytes) -> dict[str, str]:
    """Branches and their commits, from lines of a commit's 40 digits, one space or tab, and a ref.

    So print `for-each-ref` and `ls-remote`. A ref may hold what Unicode calls an end of line.
    """
    lines = told.decode(errors="replace").split("\n")
    return {line[41:].removeprefix("refs/heads/"): line[:40] for line in lines if line}


def history(git: Git, ref: str) -> list[str]:
    """The first parents of a ref, newest first; empty when there is none."""
    done = git.run("rev-list", "--first-parent", ref, "--", check=False)
    return done.stdout.decode().split() if done.returncode == 0 else []


def message(git: Git, revision: str) -> str:
    """The whole message of a commit; empty when there is none."""
    done = git.run("log", "-1", "--format=%B", "--end-of-options", revision, "--", check=False)
    return done.stdout.decode(errors="replace") if done.returncode == 0 else ""


def checkout(git: Git, revision: str, destination: Path) -> None:
    """Write the tree of a commit into an empty folder; no `.git`.

    Raises:
        ContractError: it holds a link that leads out of it.
    """
    archive = git.run("archive", "--format=tar", revision).stdout
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tree:
            extract(tree, destination)
    except OutsideError as error:
        from gpulab.contract.finding import ContractError  # a push's hook starts without the contract
        from gpulab.contract.links import link_finding

        raise ContractError([link_finding(error.name, error.found)]) from None


def read(git: Git, revision: str, path: str) -> bytes | None:
    """One file of a commit; None when it has no such file."""
    done = git.run("cat-file", "blob", f"{revision}:{path}", check=False)
    return done.stdout if done.returncode == 0 else None


def files(git: Git, revision: str) -> list[str]:
    """Every path in a commit."""
    return [name for name in git.text("ls-tree", "-r", "-z", "--name-only", revision).split("\0") if name]


def is_ancestor(git: Git, older: str, newer: str) -> bool:
    """Whether `newer` contains `older`."""
    return git.run("merge-base", "--is-ancestor", older, newer, check=False).returncode == 0


def new_commit(git: Git, contents: Mapping[str, bytes], text: str, parent: str | None) -> str:
    """Store a commit that holds exactly some files of one folder; its id. No branch is moved."""
    blobs = {name: git.text("hash-object", "-w", "--stdin", stdin=data) for name, data in contents.items()}
    listing = "".join(f"100644 blob {blob}\t{name}\0" for name, blob in sorted(blobs.items()))
    tree = git.text("mktree", "-z", stdin=listing.encode())
    parents = ["-p", parent] if parent else []
    return git.text("commit-tree", tree, *parents, "-F", "-", stdin=text.encode())
