"""The run's folder is on a disk that is full, read-only or slow: what is shown is true, and the next run ends well."""

import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from gpulab.engines.local import record
from gpulab.engines.local.client import LocalEngine
from gpulab.engines.local.record import KILLED
from gpulab.engines.local.settings import EngineSettings
from gpulab.engines.protocol import Phase
from gpulab.errors import PlatformError
from gpulab.forges.local.forge import LocalForge
from gpulab.forges.local.outbox import take
from gpulab.forges.protocol import Status
from gpulab.home import Home
from killing import FAILPOINTS, until

IMAGE, DIR = "steps:test", "{{workflow.parameters.dir}}"
pytestmark = pytest.mark.timeout(90)
AS_ROOT = pytest.mark.skipif(
    os.geteuid() != 0, reason="mounts a file system; the other tests of this file need no root"
)
PRLIMIT = pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits a running process: Linux only")


def template(*scripts: str) -> dict[str, object]:
    leaves = [
        {"name": f"t{number}", "container": {"image": IMAGE, "command": ["sh", "-ec", script, "sh", DIR]}}
        for number, script in enumerate(scripts)
    ]
    tasks = [{"name": leaf["name"], "template": leaf["name"]} for leaf in leaves]
    spec = {"entrypoint": "main", "templates": [{"name": "main", "dag": {"tasks": tasks}}, *leaves]}
    spec["arguments"] = {"parameters": [{"name": "dir", "value": "/"}]}
    return {"kind": "WorkflowTemplate", "metadata": {"name": "test"}, "spec": spec}


def waiting(file: str) -> str:
    return f"while ! test -e $1/{file}; do sleep 0.02; done"


def engine(home: Path) -> LocalEngine:
    return LocalEngine(EngineSettings(str(home), platform_images=(IMAGE,), limit=2, grace_seconds=0.5))


def supervisor(one: LocalEngine) -> int:
    file = one.folder("run") / record.LOCK
    until(lambda: file.read_text().strip().isdigit())
    return int(file.read_text())


def phases(one: LocalEngine) -> dict[str, Phase]:
    return {node.display_name: node.phase for node in one.results("run").nodes.values()}


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", folder], check=True)
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def fill(folder: Path) -> Path:
    filler = folder / "filler"
    with pytest.raises(OSError, match="No space left"), filler.open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    return filler


@PRLIMIT
def test_a_run_lives_through_a_disk_that_is_full_for_a_while(tmp_path: Path) -> None:
    one = engine(tmp_path / "home")
    one.submit("run", template(waiting("a"), waiting("b")), {"dir": str(tmp_path)})
    until(lambda: phases(one).get("t1") is Phase.RUNNING)
    pid = supervisor(one)
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE, (8, resource.RLIM_INFINITY))
    (tmp_path / "b").touch()
    until(lambda: len([*(one.folder("run") / "pods").iterdir()]) == 1)  # t1 is over, which could not be written
    resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
    (tmp_path / "a").touch()
    assert [*one.follow("run")][-1].phase is Phase.SUCCEEDED
    assert phases(one) == {"run": Phase.SUCCEEDED, "t0": Phase.SUCCEEDED, "t1": Phase.SUCCEEDED}


@PRLIMIT
def test_an_end_that_cannot_be_written_is_never_a_success(tmp_path: Path) -> None:
    one = engine(tmp_path / "home")
    one.submit("run", template(waiting("a")), {"dir": str(tmp_path)})
    until(lambda: phases(one).get("t0") is Phase.RUNNING)
    resource.prlimit(supervisor(one), resource.RLIMIT_FSIZE, (8, resource.RLIM_INFINITY))
    (tmp_path / "a").touch()
    assert [*one.follow("run")][-1].phase is Phase.ERROR
    one.submit("run-2", template("true"), {})
    assert [*one.follow("run-2")][-1].phase is Phase.SUCCEEDED


@AS_ROOT
def test_on_a_full_disk_the_state_is_shown_and_room_is_all_it_needs(small: Path, tmp_path: Path) -> None:
    one = engine(small / "home")
    one.submit("run", template(waiting("a")), {"dir": str(tmp_path)})
    until(lambda: phases(one).get("t0") is Phase.RUNNING)
    filler = fill(small)
    (tmp_path / "a").touch()
    assert [*one.follow("run")][-1].phase is Phase.ERROR
    with pytest.raises(PlatformError, match="cannot be written"):
        one.submit("run-2", template("true"), {})
    assert not one.folder("run-2").exists()
    with pytest.raises(PlatformError, match="Make room"):
        LocalForge(Home(small / "home"), lambda _: None).set_status("a" * 40, Status("c", "pending", "x" * 9999, "run"))
    filler.unlink()
    assert one.results("run").phase is Phase.ERROR
    assert record.load(one.folder("run")).phase is Phase.ERROR
    one.submit("run-2", template("true"), {})
    assert [*one.follow("run-2")][-1].phase is Phase.SUCCEEDED


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A home with a run whose engine was killed, and nothing in it can be changed any more."""
    home = tmp_path / "home"
    one = engine(home)
    one.submit("run", template(waiting("a")), {"dir": str(tmp_path)})
    until(lambda: phases(one).get("t0") is Phase.RUNNING)
    (home / "events").mkdir()
    os.kill(supervisor(one), 9)
    until(lambda: record.wait_for_end(one.folder("run"), 1))
    if os.geteuid() == 0:  # to root a mode means nothing
        subprocess.run(["mount", "--bind", home, home], check=True)
        subprocess.run(["mount", "-o", "remount,bind,ro", home], check=True)
        yield home
        subprocess.run(["umount", "-l", home], check=True)
        return
    folders = [home, *(path for path in home.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    yield home
    for folder in folders:
        folder.chmod(0o755)


def test_a_read_only_run_is_shown_as_it_is_and_nobody_waits_for_it(read_only: Path) -> None:
    one = engine(read_only)
    before = (one.folder("run") / "run.json").read_bytes()
    assert (one.results("run").phase, one.results("run").message) == (Phase.ERROR, KILLED)
    assert [*one.follow("run")][-1].phase is Phase.ERROR
    one.cancel("run")
    assert (one.folder("run") / "run.json").read_bytes() == before


def test_what_would_write_to_a_read_only_home_is_one_clear_error(read_only: Path) -> None:
    with pytest.raises(PlatformError, match="cannot be written"):
        engine(read_only).submit("run-2", template("true"), {})
    take(Home(read_only), lambda _: pytest.fail("there is no event"))
    with pytest.raises(PlatformError, match="cannot write"):
        LocalForge(Home(read_only), lambda _: None).set_status("a" * 40, Status("c", "pending", "x", "run"))


@pytest.mark.parametrize("trouble", [{"BADDAY_SLOW": "0.05"}, {"BADDAY_CLOCK": "1"}], ids=["slow disk", "clock jumps"])
def test_a_slow_disk_or_a_clock_that_jumps_changes_no_outcome(
    tmp_path: Path, trouble: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import badday_engine
    from gpulab.forges.local.git import Git

    Git(tmp_path).run("init", "-q", "--bare", str(tmp_path / "forge.git"))
    for name, value in {**trouble, "PYTHONPATH": str(FAILPOINTS)}.items():
        monkeypatch.setenv(name, value)
    one = badday_engine.engine(tmp_path)
    one.submit("run", badday_engine.pipeline(), {"home": str(tmp_path)})
    assert [*one.follow("run")][-1].phase is Phase.SUCCEEDED
    run = one.results("run")
    for node in run.nodes.values():
        assert run.started_at <= node.started_at <= node.finished_at <= run.finished_at
    named = {node.display_name: node for node in run.nodes.values()}
    for earlier, later in (("first(0)", "first(1)"), ("first", "made"), ("made", "pair"), ("produce", "main")):
        assert named[earlier].finished_at <= named[later].finished_at
    until(lambda: "sync" in (tmp_path / "ledger").read_text())
