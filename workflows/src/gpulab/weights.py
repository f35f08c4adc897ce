"""Weights never in Git: which files are refused, and the right way for them; for the check, the run and the hook."""

import shlex
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

MB = 10**6
LARGEST_FILE = 10 * MB
"""Bytes of a file that Git may carry: every clone of the repository carries it for ever."""

LARGEST_FIXTURE = 1 * MB
"""Bytes of an array that a test may bring along."""

FIXTURES = frozenset({".npy", ".npz"})
WEIGHTS = FIXTURES | {
    *(".pt", ".pth", ".pt2", ".bin", ".safetensors", ".ckpt", ".onnx", ".pkl", ".pickle", ".joblib", ".mar"),
    *(".gguf", ".ggml", ".h5", ".hdf5", ".keras", ".pb", ".tflite", ".msgpack", ".engine", ".plan", ".nemo"),
}
"""Endings of files that hold weights or arrays."""

MOST_NAMED = 5
"""Files that a refusal names."""

RIGHT_WAY = (
    "Keep weights outside Git: as an OCI artifact (oras push) or on a model hub, loaded by revision and checked by its "
    "SHA-256."
)


class Heavy(NamedTuple):
    """A file that Git should not carry, and why."""

    path: str
    size: int
    reason: str

    @property
    def message(self) -> str:
        """Size and reason, without a full stop."""
        return f"{self.size / MB:.1f} MB: {self.reason}"


def heavy(path: str, size: int) -> Heavy | None:
    """Why a file is refused; None when it is not.

    Args:
        path: inside the repository, with `/`.
        size: in bytes; an empty file is a placeholder and never refused.
    """
    pure = PurePosixPath(path)
    suffix = pure.suffix.lower()
    if size > LARGEST_FILE:
        return Heavy(path, size, f"files in Git are limited to {LARGEST_FILE // MB} MB")
    if size == 0 or suffix not in WEIGHTS:
        return None
    if suffix in FIXTURES and pure.parts[0] == "tests" and size <= LARGEST_FIXTURE:
        return None
    small = f" (arrays of up to {LARGEST_FIXTURE // MB} MB may lie under tests/)" if suffix in FIXTURES else ""
    return Heavy(path, size, f"{suffix} files hold weights or data, which do not belong into Git{small}")


def undo(path: str) -> str:
    """What to type to take a file out of the last commit and keep it on disk."""
    quoted = shlex.quote(path)
    return f"git rm --cached {quoted} && git commit --amend --no-edit, and add it to .gitignore"


def refusal(found: Sequence[Heavy]) -> str:
    """One sentence about a push that brings such files."""
    named = "; ".join(f"{one.path} ({one.message})" for one in found[:MOST_NAMED])
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return (
        f"the pushed commits hold {named}{more}. {RIGHT_WAY} Type: {undo(found[0].path)}. A file that an earlier "
        "commit brought and a later one removed is still in the history: git rebase -i takes it out there."
    )
