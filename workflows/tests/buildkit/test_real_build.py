"""`gpulab-build` with a real BuildKit and a real registry: the commands, the digests, and whose fault an error is.

The programs are those of the test cluster; the base image is one static program, so nothing is downloaded.
"""

import itertools
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from gpulab.images.buildkit.command import SOURCE, arguments, daemon_settings
from gpulab.images.buildkit.log import BuildLog, read_log
from gpulab.images.buildkit.outcome import why_failed
from gpulab.images.buildkit.settings import BuildSettings
from gpulab.images.registry import Registry

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("buildkit")]
BUILD = Path(__file__).parents[3] / "images" / "buildkit" / "gpulab-build"
REVISION = "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"
NEEDED = ("buildkitd", "buildctl", "runc", "docker-registry")


def search_path() -> str:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    tools = Path(os.environ.get("GPULAB_CLUSTER_TOOLS") or cache / "gpulab" / "cluster-tools")
    return os.pathsep.join((str(tools / "bin"), os.environ["PATH"], "/usr/sbin", "/sbin"))


@dataclass(frozen=True)
class Built:
    """How a build ended."""

    code: int
    log: BuildLog
    message: str

    @property
    def digest(self) -> str:
        return str(json.loads(self.message)["containerimage.digest"])


@dataclass(frozen=True)
class Bench:
    """A registry, and builds in daemons of their own."""

    settings: BuildSettings
    folder: Path
    lane: str = ""

    def build(self, dockerfile: str, lane: str = "", **files: bytes) -> Built:
        work = self.folder / f"build-{next(NUMBERS)}"
        (work / "source").mkdir(parents=True)
        for name, content in {"Dockerfile": dockerfile.encode(), **files}.items():
            (work / "source" / name).write_bytes(content)
        environment = {
            "PATH": search_path(),
            "HOME": str(work),
            "DOCKER_CONFIG": str(work),
            "GPULAB_STATE": str(work / "state"),
            "GPULAB_MESSAGE_FILE": str(work / "message"),
            "BUILDKITD_CONFIG": f'[worker.oci]\nsnapshotter = "native"\n{daemon_settings(self.settings)}',
        }
        told = [
            one.replace(SOURCE, str(work / "source")) for one in arguments(self.settings, lane or self.lane, REVISION)
        ]
        done = subprocess.run([str(BUILD), *told], env=environment, capture_output=True, text=True, check=False)
        message = work / "message"
        shutil.rmtree(work / "state", ignore_errors=True)
        return Built(done.returncode, read_log(done.stdout), message.read_text() if message.exists() else "")


NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    missing = [name for name in NEEDED if not shutil.which(name, path=search_path())]
    if missing or os.getuid():
        pytest.skip(f"a real build needs root and {', '.join(missing or NEEDED)}")
    folder = tmp_path_factory.mktemp("registry")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{free.getsockname()[1]}"
    config = f"version: 0.1\nstorage: {{filesystem: {{rootdirectory: {folder}}}}}\nhttp: {{addr: '{host}'}}\n"
    (folder / "config.yml").write_text(config)
    program = shutil.which("docker-registry", path=search_path()) or ""
    process = subprocess.Popen(
        [program, "serve", str(folder / "config.yml")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_for(f"http://{host}/v2/")
        yield host
    finally:
        process.terminate()
        process.wait()


def wait_for(url: str) -> None:
    for _ in range(100):
        try:
            httpx.get(url)
            return
        except httpx.TransportError:
            time.sleep(0.1)
    pytest.fail(f"{url} does not answer")


@pytest.fixture(scope="module")
def bench(registry: str, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """Its lane is an image that holds one program, /tool."""
    folder = tmp_path_factory.mktemp("builds")

    def settings(name: str) -> BuildSettings:
        return BuildSettings("", "", "privileged", "", f"{registry}/{name}", {}, insecure=True)

    tool = Path(shutil.which("buildctl", path=search_path()) or "").read_bytes()
    base = Bench(settings("lane"), folder).build("FROM scratch\nCOPY --chmod=755 tool /tool\n", "unused", tool=tool)
    assert base.code == 0, base.log.own
    return Bench(settings("lab"), folder, f"{registry}/lane@{base.digest}")


GOOD = 'ARG LANE\nFROM ${LANE}\nCOPY a.txt /app/\nRUN ["/tool", "--version"]\n'


def test_the_same_commit_is_the_same_image_on_another_machine_and_day(bench: Bench, registry: str) -> None:
    first = bench.build(GOOD, **{"a.txt": b"1"})
    assert first.code == 0, first.log.own
    elsewhere = with_repository(bench, f"{registry}/elsewhere")  # another repository has no cache to take it from
    assert elsewhere.build(GOOD, **{"a.txt": b"1"}).digest == first.digest
    assert elsewhere.build(GOOD, **{"a.txt": b"2"}).digest != first.digest
    assert Registry(httpx.Client(), f"{registry}/lab", insecure=True).has(first.digest)


def test_a_second_build_takes_what_has_not_changed_from_the_registry(bench: Bench) -> None:
    dockerfile = 'ARG LANE\nFROM ${LANE}\nRUN ["/tool", "--help"]\nCOPY b.txt /app/\n'
    first, second = (bench.build(dockerfile, **{"b.txt": content}) for content in (b"1", b"2"))
    assert [
        any("--help" in vertex.name and vertex.lines for vertex in one.log.vertices.values()) for one in (first, second)
    ] == [True, False]


FAULTS = {
    "a program that fails": 'RUN ["/tool", "nosuch"]',
    "no such program": 'RUN ["/nosuch"]',
    "no such instruction": "INSTALL x",
    "no such file": "COPY nosuch /x",
    "no such user": 'USER nosuch\nRUN ["/tool", "--version"]',
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_projects_faults(bench: Bench, name: str) -> None:
    built = bench.build(f"ARG LANE\nFROM ${{LANE}}\n{FAULTS[name]}\n")
    assert (built.code, why_failed(built.log).is_projects) == (1, True), built.log.own
    assert built.message == ""


def broken(change: Callable[[Bench], Bench]) -> Callable[[Bench], Built]:
    return lambda bench: change(bench).build(GOOD, **{"a.txt": b"1"})


def with_repository(bench: Bench, repository: str) -> Bench:
    settings = BuildSettings("", "", "privileged", "", repository, {}, insecure=True)
    return Bench(settings, bench.folder, bench.lane)


TROUBLES: dict[str, Callable[[Bench], Built]] = {
    "no such lane": broken(lambda one: Bench(one.settings, one.folder, f"{one.settings.repository}@sha256:{'0' * 64}")),
    "no registry for the lane": broken(lambda one: Bench(one.settings, one.folder, f"127.0.0.1:1/x@sha256:{'0' * 64}")),
    "no registry to push to": lambda one: with_repository(one, "127.0.0.1:1/lab").build(
        "FROM scratch\nCOPY a /\n", a=b""
    ),
}


@pytest.mark.parametrize("name", TROUBLES)
def test_the_platforms_troubles(bench: Bench, name: str) -> None:
    built = TROUBLES[name](bench)
    assert (built.code, why_failed(built.log).is_projects) == (1, False), built.log.own


def test_a_daemon_that_does_not_start_is_told_and_is_no_verdict(bench: Bench, tmp_path: Path) -> None:
    environment = {
        "PATH": search_path(),
        "GPULAB_STATE": str(tmp_path),
        "GPULAB_MESSAGE_FILE": str(tmp_path / "message"),
        "BUILDKITD_CONFIG": "this is no TOML",
    }
    done = subprocess.run([str(BUILD)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "buildkitd ended at its start" in (tmp_path / "message").read_text()
