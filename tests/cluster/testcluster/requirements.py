"""Which Python packages go into an image."""

import re
import sys
from pathlib import Path

from testcluster.versions import HERE, ImageBase

REPOSITORY = HERE.parents[1]
LOCK = REPOSITORY / "requirements.lock"
STEPS = (REPOSITORY / "workflows" / "pyproject.toml", REPOSITORY / "model-tests" / "pyproject.toml")
RUNTIME = (REPOSITORY / "images" / "runtime" / "requirements.txt",)
OURS = (REPOSITORY / "model-tests", REPOSITORY / "workflows")
# Debian has these; our own code is a layer of its own.
EXCLUDED = ("torch", "numpy", "triton", "gpulab", "gpulab-model-tests")


def constraints(lock: str) -> str:
    """The lock's versions, one in a line with its marker, without hashes."""
    return "".join(f"{found}\n" for found in re.findall(r"^([a-z0-9].*?)(?: \\)?$", lock, re.MULTILINE))


def install_line(base: ImageBase, target: Path, notes: Path, words: list[str]) -> list[str]:
    """uv's command line; the two files it reads are written into `notes`."""
    notes.mkdir(parents=True, exist_ok=True)
    (notes / "constraints.txt").write_text(constraints(LOCK.read_text()))
    (notes / "excludes.txt").write_text("".join(f"{name}\n" for name in EXCLUDED if "--no-deps" not in words))
    uv = Path(sys.executable).with_name("uv")
    line = [str(uv) if uv.exists() else "uv", "pip", "install", "--quiet", "--link-mode", "copy"]
    line += ["--python-version", base.python, "--target", str(target)]
    line += ["--constraints", str(notes / "constraints.txt"), "--excludes", str(notes / "excludes.txt")]
    return [*line, *words]


def tree(folder: Path) -> bytes:
    """A project's package as bytes that change when a file does."""
    files = [folder / "pyproject.toml", *sorted((folder / "src").rglob("*"))]
    kept = [path for path in files if path.is_file() and "__pycache__" not in path.parts]
    return b"\0".join(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes() for path in kept)
