"""Start the container of a Deployment as a process of this machine, for the smoke request."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpulab.home import Home
from gpulab.images.layout import Layout
from gpulab.images.unpack import environment, unpack, working_directory
from gpulab.system import SYSTEM

GRACE_SECONDS = 5


@dataclass(frozen=True)
class Service:
    """A started service."""

    process: subprocess.Popen[bytes]
    base: str
    log: Path

    def alive(self) -> bool:
        """Whether its process still runs."""
        return self.process.poll() is None


def container_of(deployment: Mapping[str, Any]) -> Mapping[str, Any]:
    """The first container of a Deployment."""
    containers: list[Mapping[str, Any]] = deployment["spec"]["template"]["spec"]["containers"]
    return containers[0]


@contextlib.contextmanager
def started(deployment: Mapping[str, Any], home: Home) -> Iterator[Service]:
    """Run the Deployment's container on a free port; stopped, with all its children, when the block ends."""
    container = container_of(deployment)
    layout, digest = Layout(home.images), container["image"].rsplit("@", 1)[-1]
    unpacked = unpack(layout, digest, home.unpacked(digest))
    workdir = working_directory(layout, digest)
    port = _free_port()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as private:
        # a copy: others run the same image, and this is the student's code
        root = Path(shutil.copytree(unpacked, Path(private) / "root", symlinks=True))
        log = Path(private) / "log"
        variables = _variables(container, environment(layout, digest), root, workdir, private, port)
        command = [*container["command"], *container.get("args", [])]
        with log.open("wb") as output:
            process = subprocess.Popen(
                [_interpreter(command[0]), *command[1:]],
                cwd=root / workdir.lstrip("/"),
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                **SYSTEM.own_group(),
            )
        try:
            yield Service(process, f"http://127.0.0.1:{port}", log)
        finally:
            SYSTEM.end_group(process, GRACE_SECONDS)


def _interpreter(program: str) -> str:
    return sys.executable if program in ("python", "python3") else program


def _variables(
    container: Mapping[str, Any], image: Mapping[str, str], root: Path, workdir: str, private: str, port: int
) -> dict[str, str]:
    declared = {one["name"]: str(one.get("value", "")) for one in container.get("env", [])}
    inside = {name: value.replace(workdir, f"{root}{workdir}") for name, value in {**image, **declared}.items()}
    outside = {name: os.environ[name] for name in ("PATH", "OMP_NUM_THREADS") if name in os.environ}
    fixed = {"LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
    return outside | SYSTEM.environment(private, private) | fixed | inside | {"PORT": str(port), "HOST": "127.0.0.1"}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
