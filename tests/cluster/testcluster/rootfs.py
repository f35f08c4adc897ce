"""A Debian in a folder, and layers that are made once."""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from testcluster import oci
from testcluster.errors import PlatformError
from testcluster.versions import ImageBase

DROPPED = ("usr/share/doc", "usr/share/man", "usr/share/locale")
EMPTIED = ("var/cache/apt", "var/lib/apt/lists", "var/log", "dev", "tmp")


def debian(base: ImageBase, packages: tuple[str, ...], root: Path) -> None:
    """A minimal Debian with some packages, without documentation, caches and devices."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    run("debootstrap", "--variant=minbase", f"--include={','.join(packages)}", base.suite, str(root), base.mirror)
    for name in DROPPED:
        shutil.rmtree(root / name, ignore_errors=True)
    for name in EMPTIED:
        run("find", str(root / name), "-mindepth", "1", "-delete")


def kept(folder: Path, name: str, make: Callable[[Path], None]) -> oci.Layer:
    """A layer from the cache, made when it is not there; its name must change with its content."""
    file, noted = folder / f"{name}.tar", folder / f"{name}.digest"
    if not (file.exists() and noted.exists()):
        make(file)
        noted.write_text(oci.measured(file).digest)
    return oci.Layer(file, noted.read_text(), file.stat().st_size)


def key(*parts: bytes) -> str:
    """Changes when a part does."""
    return hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()[:16]


def run(*line: str) -> None:
    """Run a command; raises PlatformError with its last words when it fails."""
    print(f"  {' '.join(line[:4])} …", file=sys.stderr, flush=True)
    done = subprocess.run(line, text=True, capture_output=True, check=False)
    if done.returncode:
        raise PlatformError(f"{' '.join(line)}: {(done.stderr or done.stdout).strip()[-1500:]}")
