"""A run from submit to its end: detached, followed, cancelled, killed, damaged."""

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from gpulab.engines.errors import AlreadyExists, CorruptRun, RunNotFound
from gpulab.engines.local.client import LocalEngine
from gpulab.engines.local.record import KILLED, node_id
from gpulab.engines.local.settings import EngineSettings
from gpulab.engines.protocol import Change, Phase
from gpulab.errors import InputError, PlatformError

IMAGE = "steps:test"
ON_LINUX = pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="looks into /proc")


@pytest.fixture
def engine(tmp_path: Path) -> LocalEngine:
    return LocalEngine(EngineSettings(str(tmp_path / "home"), platform_images=(IMAGE,), limit=2, grace_seconds=0.5))


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder that steps know by a parameter."""
    (tmp_path / "shared").mkdir()
    return tmp_path / "shared"


def template(*scripts: str, **spec: Any) -> dict[str, Any]:
    """A DAG of independent shell scripts `t0`, `t1`, …; `{{workflow.parameters.dir}}` is the shared folder."""
    leaves = [
        {
            "name": f"t{index}",
            "container": {"image": IMAGE, "command": ["sh", "-c", f"cd {{{{workflow.parameters.dir}}}}; {script}"]},
        }
        for index, script in enumerate(scripts)
    ]
    tasks = [{"name": leaf["name"], "template": leaf["name"]} for leaf in leaves]
    base = {"entrypoint": "main", "arguments": {"parameters": [{"name": "dir", "value": "/"}]}}
    return {
        "kind": "ClusterWorkflowTemplate",
        "metadata": {"name": "test"},
        "spec": {**base, "templates": [{"name": "main", "dag": {"tasks": tasks}}, *leaves], **spec},
    }


def eventually(condition: Callable[[], Any], seconds: float = 20) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert found, "it did not come about"
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def supervisor(engine: LocalEngine, name: str = "run") -> int:
    return int((engine.folder(name) / "supervisor.lock").read_text())


def pids(shared: Path) -> list[int]:
    return [int(path.name) for path in shared.iterdir() if path.name.isdigit()]


# Submit and follow


def test_every_change_of_phase_is_told_once_and_the_run_last(engine: LocalEngine) -> None:
    engine.submit("run", template("sleep 0.3", "false"), {})
    changes = [*engine.follow("run")]
    told = [(change.type, change.node, change.phase) for change in changes]
    assert len(told) == len(set(told))
    assert [phase for _, node, phase in told if node == "t0"][-2:] == [Phase.RUNNING, Phase.SUCCEEDED]
    assert [phase for _, node, phase in told if node == "t1"][-1] is Phase.FAILED
    assert (changes[-1].type, changes[-1].phase) == ("Workflow", Phase.FAILED)
    assert all(isinstance(change, Change) and change.time.endswith("Z") for change in changes)
    log = [change.log for change in changes if change.node == "t0"][-1]
    assert log is not None
    assert log.is_file()


def test_a_run_that_has_ended_can_be_followed_again(engine: LocalEngine) -> None:
    engine.submit("run", template("true"), {})
    assert [*engine.follow("run")][-1].phase is Phase.SUCCEEDED
    again = [*LocalEngine(engine.settings).follow("run")]
    assert {change.node: change.phase for change in again} == {"run": Phase.SUCCEEDED, "t0": Phase.SUCCEEDED}


def test_of_two_submits_at_once_one_wins(engine: LocalEngine, shared: Path) -> None:
    def submit(_: int) -> bool:
        try:
            engine.submit("run", template("echo x >> ran"), {"dir": str(shared)})
        except AlreadyExists:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(submit, range(8))) == 1
    assert [*engine.follow("run")][-1].phase is Phase.SUCCEEDED
    assert (shared / "ran").read_text() == "x\n"
    with pytest.raises(AlreadyExists, match="gpulab watch run"):
        engine.submit("run", template("true"), {})


@pytest.mark.parametrize("name", ["../x", "", "A", "a/b", "-a", "a.b", "x" * 64, "a\n"])
def test_a_name_that_is_no_label_is_refused(engine: LocalEngine, name: str) -> None:
    with pytest.raises(InputError, match="is no run's name"):
        engine.submit(name, template("true"), {})


def test_a_run_that_does_not_exist_is_named(engine: LocalEngine) -> None:
    with pytest.raises(RunNotFound, match="there is no run nobody"):
        engine.results("nobody")


def test_independent_tasks_run_at_the_same_time(engine: LocalEngine, shared: Path) -> None:
    meet = "touch {0}; while ! test -e {1}; do sleep 0.02; done"
    engine.submit("run", template(meet.format("a", "b"), meet.format("b", "a")), {"dir": str(shared)})
    assert [*engine.follow("run")][-1].phase is Phase.SUCCEEDED


def test_the_record_is_whole_whenever_it_is_read(engine: LocalEngine) -> None:
    engine.submit("run", template(*["true"] * 6), {})
    path, phase = engine.folder("run") / "run.json", ""
    while phase not in ("Succeeded", "Error", "Failed"):
        phase = json.loads(path.read_text())["phase"]
    assert phase == "Succeeded"


def test_a_mutex_holds_between_runs(engine: LocalEngine, shared: Path) -> None:
    script = "mkdir lock && sleep 0.3 && rmdir lock"
    spec = template(script, synchronization={"mutexes": [{"name": "one-{{workflow.parameters.dir}}"}]})
    for name in ("one", "two"):
        engine.submit(name, spec, {"dir": str(shared)})
    for name in ("one", "two"):
        assert [*engine.follow(name)][-1].phase is Phase.SUCCEEDED


def test_node_ids_are_argos() -> None:
    assert node_id("run", "run") == "run"
    assert node_id("run", "a") == "run-3826002220"  # FNV-1a's published test vector 0xe40c292c
    assert node_id("run", "foobar") == "run-3214735720"  # 0xbf9cf968


# Detached

FOLLOWER = """
import sys
from gpulab.engines.local.client import LocalEngine
from gpulab.engines.local.settings import EngineSettings
import json
settings = json.loads(sys.argv[1])
engine = LocalEngine(EngineSettings(**{**settings, "platform_images": tuple(settings["platform_images"])}))
engine.submit("run", json.loads(sys.argv[2]), {"dir": sys.argv[3]})
print("submitted", flush=True)
for change in engine.follow("run"):
    print(change.node, change.phase, flush=True)
"""


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGKILL, signal.SIGHUP], ids=["ctrl-c", "kill", "terminal closed"]
)
def test_the_run_goes_on_when_its_follower_is_stopped(engine: LocalEngine, shared: Path, number: int) -> None:
    settings = {"home": engine.settings.home, "platform_images": [IMAGE], "limit": 2}
    spec = json.dumps(template("touch started; while ! test -e go; do sleep 0.02; done; touch done"))
    follower = subprocess.Popen(
        [sys.executable, "-c", FOLLOWER, json.dumps(settings), spec, str(shared)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    eventually((shared / "started").exists)
    os.killpg(follower.pid, number)
    follower.communicate(timeout=20)
    (shared / "go").touch()
    assert [*engine.follow("run")][-1].phase is Phase.SUCCEEDED
    assert (shared / "done").exists()


def test_whoever_submitted_need_not_wait(engine: LocalEngine, shared: Path) -> None:
    """As in a git hook: the caller's pipes are not held open by the run."""
    settings = {"home": engine.settings.home, "platform_images": [IMAGE], "limit": 2}
    spec = json.dumps(template("while ! test -e go; do sleep 0.02; done"))
    code = FOLLOWER.split("for change")[0]
    argv = [sys.executable, "-c", code, json.dumps(settings), spec, str(shared)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=True)
    assert done.stdout == "submitted\n"
    assert engine.results("run").phase in (Phase.PENDING, Phase.RUNNING)
    (shared / "go").touch()
    assert [*engine.follow("run")][-1].phase is Phase.SUCCEEDED


@ON_LINUX
def test_git_variables_do_not_reach_the_run(engine: LocalEngine, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_DIR", "GIT_QUARANTINE_PATH", "GIT_CONFIG_COUNT"):
        monkeypatch.setenv(name, "/leaked")
    engine.submit("run", template("env > env; while ! test -e go; do sleep 0.02; done"), {"dir": str(shared)})
    eventually(lambda: (shared / "env").exists() and (shared / "env").read_text())
    environment = Path(f"/proc/{supervisor(engine)}/environ").read_text()
    (shared / "go").touch()
    assert [*engine.follow("run")][-1].phase is Phase.SUCCEEDED
    assert "GIT_" not in environment
    assert "GIT_" not in (shared / "env").read_text()


# Cancel

STUBBORN = """
exec python3 -c "
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(2):
    if os.fork() == 0:
        os.setsid()
open(str(os.getpid()), 'w').close()
time.sleep(300)
"
"""
HANDLER = {
    "onExit": "bye",
    "templates": [
        {
            "name": "main",
            "dag": {"tasks": [{"name": "a", "template": "t"}, {"name": "b", "template": "t", "depends": "a"}]},
        },
        {
            "name": "t",
            "container": {"image": IMAGE, "command": ["sh", "-c", f"cd {{{{workflow.parameters.dir}}}}; {STUBBORN}"]},
        },
        {
            "name": "bye",
            "container": {"image": IMAGE, "command": ["sh", "-c", "touch {{workflow.parameters.dir}}/bye"]},
        },
    ],
}


@ON_LINUX
def test_cancel_stops_all_processes_and_leaves_the_truth(engine: LocalEngine, shared: Path) -> None:
    engine.submit("run", template(**HANDLER), {"dir": str(shared)})
    eventually(lambda: len(pids(shared)) == 4)
    follower = threading.Thread(target=lambda: [*engine.follow("run")])
    follower.start()
    engine.cancel("run")
    follower.join(10)
    assert not follower.is_alive()
    assert not any(alive(pid) for pid in [*pids(shared), supervisor(engine)])
    run = engine.results("run")
    assert (run.phase, run.message) == (Phase.FAILED, "Stopped with strategy 'Terminate'")
    assert {node.name: node.phase for node in run.nodes.values()} == {"run": Phase.FAILED, "run.a": Phase.FAILED}
    assert "Terminate" in run.nodes[node_id("run", "run.a")].message
    assert not (shared / "bye").exists()
    engine.cancel("run")
    assert engine.results("run") == run


def test_a_run_that_waits_for_a_mutex_can_be_cancelled(engine: LocalEngine, shared: Path) -> None:
    mutex = {"synchronization": {"mutexes": [{"name": "one"}]}}
    engine.submit("first", template("touch up; while ! test -e go; do sleep 0.02; done", **mutex), {"dir": str(shared)})
    eventually((shared / "up").exists)
    engine.submit("second", template("touch second", **mutex), {"dir": str(shared)})
    eventually(lambda: (engine.folder("second") / "supervisor.lock").read_text())
    engine.cancel("second")
    assert engine.results("second").phase is Phase.FAILED
    (shared / "go").touch()
    assert [*engine.follow("first")][-1].phase is Phase.SUCCEEDED
    assert not (shared / "second").exists()


# Killed and damaged


@ON_LINUX
@pytest.mark.parametrize(
    "signals", [[signal.SIGKILL], [signal.SIGTERM, signal.SIGTERM]], ids=["kill -9", "two SIGTERM"]
)
def test_a_killed_supervisor_is_noticed_and_its_processes_end(
    engine: LocalEngine, shared: Path, signals: list[int]
) -> None:
    engine.submit("run", template(**HANDLER), {"dir": str(shared)})
    eventually(lambda: len(pids(shared)) == 4)
    for number in signals:
        os.kill(supervisor(engine), number)
        time.sleep(0.05)
    changes = [*engine.follow("run")]
    assert (changes[-1].phase, changes[-1].message) == (Phase.ERROR, KILLED)
    on_disk = json.loads((engine.folder("run") / "run.json").read_text())
    assert (on_disk["phase"], on_disk["message"]) == ("Error", KILLED)
    assert {node["phase"] for node in on_disk["nodes"].values()} == {"Error"}
    eventually(lambda: not any(alive(pid) for pid in pids(shared)))


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"schema": "gpulab/run/v2"}', '{"schema": "gpulab/run/v1"}', "\0"]
)
def test_a_damaged_record_is_named_with_what_to_do(engine: LocalEngine, text: str) -> None:
    engine.submit("run", template("true"), {})
    assert [*engine.follow("run")]
    path = engine.folder("run") / "run.json"
    path.write_text(text)
    for read in (lambda: engine.results("run"), lambda: [*engine.follow("run")], lambda: engine.cancel("run")):
        with pytest.raises(CorruptRun) as raised:
            read()
        assert str(path) in str(raised.value)
        assert "gpulab run" in str(raised.value)


def test_a_record_that_is_half_written_is_read_again(engine: LocalEngine) -> None:
    engine.submit("run", template("true"), {})
    assert [*engine.follow("run")]
    path = engine.folder("run") / "run.json"
    whole = path.read_text()
    path.write_text(whole[: len(whole) // 2])
    threading.Timer(0.15, path.write_text, [whole]).start()
    assert [*engine.follow("run")][-1].phase is Phase.SUCCEEDED


def test_a_record_that_cannot_be_locked_is_shown_as_it_is(engine: LocalEngine, shared: Path) -> None:
    """As when somebody looks at another user's run."""
    engine.submit("run", template("while ! test -e go; do sleep 0.02; done"), {"dir": str(shared)})
    eventually(lambda: engine.results("run").phase is Phase.RUNNING)
    lock = engine.folder("run") / "supervisor.lock"
    lock.rename(lock.with_name("aside"))
    lock.mkdir()
    assert engine.results("run").phase is Phase.RUNNING
    (shared / "go").touch()
    assert [*engine.follow("run")][-1].phase is Phase.SUCCEEDED


def test_an_engine_that_cannot_start_says_so(tmp_path: Path) -> None:
    engine = LocalEngine(EngineSettings(str(tmp_path), platform_images=(IMAGE,), images="no.such.module:resolver"))
    engine.submit("run", template("true"), {})
    last = [*engine.follow("run")][-1]
    assert last.phase is Phase.ERROR
    assert "no.such.module:resolver" in last.message


def test_a_home_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    engine = LocalEngine(EngineSettings(str(tmp_path / "file" / "home")))
    with pytest.raises(PlatformError, match="cannot be written") as raised:
        engine.submit("run", template("true"), {})
    assert raised.value.exit_code == 3


@pytest.fixture
def small_files() -> Iterator[Callable[[int], None]]:
    """Limits how long a file may become: writing more fails, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_one_clear_error_and_leaves_nothing(
    engine: LocalEngine, small_files: Callable[[int], None]
) -> None:
    small_files(16)
    with pytest.raises(PlatformError, match=r"cannot be written \(File too large\)"):
        engine.submit("run", template("true"), {})
    assert not engine.folder("run").exists()
    assert [*(engine.home / "drafts").iterdir()] == []


def test_a_disk_that_fills_up_meanwhile_ends_the_run_as_an_error(
    engine: LocalEngine, small_files: Callable[[int], None]
) -> None:
    small_files(4096)
    spec = template("sleep 0.2")
    spec["spec"]["templates"][0]["dag"]["tasks"][0]["withParam"] = json.dumps([*range(30)])
    engine.submit("run", spec, {})
    assert [*engine.follow("run")][-1].phase is Phase.ERROR
    assert "cannot be written" in (engine.folder("run") / "supervisor.log").read_text()
