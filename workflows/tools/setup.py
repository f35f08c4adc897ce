"""Make the one environment for everything: `python workflows/tools/setup.py [--venv FOLDER] [--torch-index URL]`.

`make setup` runs this; where there is no make (Windows), type it. It needs the standard library only, says how much it
may download before it does, and does nothing when the environment is newer than what it was made from.
"""

import argparse
import os
import platform
import re
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOCK, WITHOUT_TORCH = "requirements.lock", "requirements-no-torch.lock"
SOURCES = (LOCK, "workflows/pyproject.toml", "model-tests/pyproject.toml")
STAMP = ".installed"


def machine() -> str:
    """`linux-x86_64`, `macos-arm64`, `windows-amd64`, … as the lock's header names them."""
    system = {"Darwin": "macos"}.get(platform.system(), platform.system().lower())
    return f"{system}-{platform.machine() if system != 'windows' else platform.machine().lower()}"


def refusal(version: tuple[int, ...], machine: str) -> str:
    """Why this machine cannot have the environment; empty when it can."""
    if version < (3, 11):
        return f"gpulab needs Python 3.11 or later; this is {'.'.join(map(str, version[:3]))}"
    if machine == "macos-x86_64":
        return "PyTorch ends at 2.2 on Intel Macs; gpulab needs 2.6. Use an Apple silicon Mac or Linux."
    return ""


def said(lock: str, machine: str, folder: Path, torch_index: str) -> str:
    """What is about to be downloaded, in words; the lock's header knows it for whole environments."""
    size = re.search(rf"^# download {re.escape(machine)}: (.+)$", lock, re.MULTILINE)
    amount = f"up to {size[1]}" if size else "some hundred MB"
    if torch_index:
        amount = f"PyTorch from {torch_index} (for CPUs some 200 MB) and about 200 MB"
    return f"setting up {folder}: {amount} of packages (less if they are cached)"


def python_of(folder: Path) -> Path:
    """The interpreter of a virtual environment."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def pinned(lock: str, package: str) -> str:
    """`name==version` as the lock has it."""
    found = re.search(rf"^{package}==[^ ]+", lock, re.MULTILINE)
    if found is None:
        raise SystemExit(f"{LOCK} names no {package}: type make lock")
    return found[0]


def installs(python: Path, lock: str, torch_index: str) -> list[list[str]]:
    """The commands that fill the environment, in order."""
    # compiled now: the engine's steps write no bytecode, so each of them would compile Hera and PyTorch anew
    uv = [str(python), "-m", "uv", "pip", "install", "--compile-bytecode", "--python", str(python)]
    hashed = [*uv, "--require-hashes", "-r", WITHOUT_TORCH if torch_index else LOCK]
    torch = [[*uv, "--index-url", torch_index, pinned(lock, "torch")]] if torch_index else []
    bootstrap = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", pinned(lock, "uv")]
    return [bootstrap, *torch, hashed, [*uv, "--quiet", "--no-deps", "-e", "workflows", "-e", "model-tests"]]


def up_to_date(folder: Path) -> bool:
    """Whether the environment is newer than all that it was made from."""
    stamp = folder / STAMP
    return stamp.is_file() and all(stamp.stat().st_mtime >= (ROOT / name).stat().st_mtime for name in SOURCES)


def main() -> int:
    """Make the environment, or bring it up to date."""
    arguments = argparse.ArgumentParser(description="Make the one environment for everything.")
    arguments.add_argument("--venv", type=Path, default=Path(os.environ.get("GPULAB_VENV") or ROOT / ".venv"))
    arguments.add_argument("--torch-index", default="", help="take torch from this index, the rest from the usual one")
    asked = arguments.parse_args()
    folder, lock = asked.venv.expanduser().absolute(), (ROOT / LOCK).read_text(encoding="utf-8")
    if reason := refusal(sys.version_info[:3], machine()):
        print(reason, file=sys.stderr)
        return 2
    if up_to_date(folder):
        print(f"{folder} is up to date")
        return 0
    print(said(lock, machine(), folder, asked.torch_index), flush=True)
    if not python_of(folder).is_file():
        venv.create(folder, with_pip=True)
    for command in installs(python_of(folder), lock, asked.torch_index):
        if subprocess.run(command, cwd=ROOT, check=False).returncode:
            print("the environment is not complete: the lines above say why. Type the same again.", file=sys.stderr)
            return 3
    (folder / STAMP).touch()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
