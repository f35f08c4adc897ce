"""The facts about a repository's files that the plan needs: read once, then only data."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

DOCKERFILE = "Dockerfile"

WEIGHTS = frozenset({".pt", ".pth", ".bin", ".safetensors", ".ckpt", ".gguf", ".onnx", ".h5", ".npz", ".npy", ".pkl"})
"""Endings of files that hold weights or arrays."""

LARGE_FILE = 5 * 1024 * 1024
"""Bytes of a file that Git should not carry in every clone."""


@dataclass(frozen=True)
class RepositoryFacts:
    """What a commit (or a working tree) holds.

    Attributes:
        dockerfile: its text; None when there is none.
        has_tests: whether `tests/` has a `test_*.py`.
        heavy: paths of weights and large files, sorted.
    """

    dockerfile: str | None
    has_tests: bool
    heavy: tuple[str, ...] = ()


def facts_of(root: Path, paths: Iterable[str]) -> RepositoryFacts:
    """The facts of a project folder.

    Args:
        root: the folder.
        paths: the files that belong to the project (of the commit, or tracked by Git), relative to it.
    """
    return RepositoryFacts(
        dockerfile=read_dockerfile(root),
        has_tests=any(True for _ in (root / "tests").rglob("test_*.py")),
        heavy=tuple(sorted(path for path in paths if is_heavy(root / path))),
    )


def read_dockerfile(root: Path) -> str | None:
    """The Dockerfile's text; None when there is none or it cannot be read."""
    try:
        return (root / DOCKERFILE).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def is_heavy(path: Path) -> bool:
    """Whether a file is better kept outside Git: weights, or larger than LARGE_FILE."""
    try:
        size = path.lstat().st_size
    except OSError:
        return False
    return size > LARGE_FILE or (path.suffix.lower() in WEIGHTS and size > 0)
