"""Write the lock files: every version with its hashes, no index named, and how much a fresh install downloads.

Run it as `make lock`. The sizes are those the package index states for the wheels that each kind of machine would take.
"""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
MACHINES = {
    "linux-x86_64": ("manylinux", "x86_64"),
    "linux-aarch64": ("manylinux", "aarch64"),
    "macos-arm64": ("macosx", "arm64"),
    "windows-amd64": ("win_amd64", "win_amd64"),
}


def uv(*arguments: str) -> str:
    """What `uv` prints; its errors reach the terminal."""
    command = [sys.executable, "-m", "uv", *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def wheel_size(package: dict, system: str, machine: str) -> int:
    """Bytes of the wheel that CPython 3.11 on this kind of machine would take; 0 when none fits it."""
    for wheel in package.get("wheels", []):
        tags = wheel["url"].rsplit("/", 1)[-1].removesuffix(".whl")
        python_fits = any(tag in tags for tag in ("cp311-cp311", "-abi3-", "py3-none", "py2.py3-none"))
        platform_fits = tags.endswith("-any") or (system in tags and machine in tags)
        if python_fits and platform_fits:
            return int(wheel.get("size", 0))
    return 0


def linux_only(package: dict) -> bool:
    """Whether the lock limits this package to Linux (torch's CUDA libraries)."""
    return "linux" in package.get("marker", "")


def main() -> int:
    """Resolve the newest versions and write both lock files."""
    uv("lock", "--upgrade", "--quiet")
    export = ("export", "--quiet", "--no-emit-project", "--no-emit-workspace", "--no-emit-local", "--no-header")
    exported = uv(*export, "--format", "requirements.txt")
    without_torch = uv(*export, "--prune", "torch", "--format", "requirements.txt")
    packages = tomllib.loads(uv("export", "--quiet", "--format", "pylock.toml"))["packages"]
    header = "# Made by `make lock`: every version with its hashes.\n"
    for name, (system, machine) in MACHINES.items():
        chosen = [p for p in packages if system == "manylinux" or not linux_only(p)]
        total = sum(wheel_size(p, system, machine) for p in chosen)
        header += f"# download {name}: {total / 1e6:.0f} MB\n"
    (ROOT / "requirements.lock").write_text(header + exported, encoding="utf-8")
    note = "# Made by `make lock`: the same without torch, for `make setup TORCH_INDEX=…`.\n"
    (ROOT / "requirements-no-torch.lock").write_text(note + without_torch, encoding="utf-8")
    print(header, end="")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
