"""The parts of the cluster that Debian has."""

import os
import shutil
import subprocess

from testcluster.errors import PlatformError, UsageError
from testcluster.versions import Versions

PROGRAMS = (
    "containerd",
    "runc",
    "docker-registry",
    "debootstrap",
    "nft",
    "ip",
    "ipset",
    "conntrack",
    "iptables",
    "gcc",
)


def missing() -> list[str]:
    """Programs of the packages that are not installed."""
    return [name for name in PROGRAMS if shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is None]


def check(versions: Versions) -> None:
    """Raises UsageError, with what to type, when a package is missing."""
    if missing():
        words = " ".join(versions.debian)
        raise UsageError(
            f"not installed: {', '.join(missing())}. Type: apt-get install --no-install-recommends {words}"
        )


def install(versions: Versions) -> None:
    """Install them; only root can, and only where there is apt-get."""
    if not missing():
        return
    if os.geteuid() or shutil.which("apt-get") is None:
        check(versions)
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for line in (
        ["apt-get", "update", "-q"],
        ["apt-get", "install", "-yq", "--no-install-recommends", *versions.debian],
    ):
        done = subprocess.run(line, env=quiet, text=True, capture_output=True, check=False)
        if done.returncode:
            raise PlatformError(f"{' '.join(line[:2])} failed:\n{done.stderr.strip()[-1500:]}")
