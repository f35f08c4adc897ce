"""One kill of the engine at one point, and all that must be true afterwards, as data."""

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from gpulab.engines.errors import RunNotFound
from gpulab.engines.protocol import Phase, RunStatus
from gpulab.forges.local.forge import LocalForge
from gpulab.forges.local.git import Git
from gpulab.home import Home

FAILPOINTS = Path(__file__).parent / "failpoints"
sys.path.insert(0, str(FAILPOINTS))
import badday_engine  # noqa: E402
import toy  # noqa: E402

SECONDS = 60


@dataclass
class Aftermath:
    """What is there after a kill, and after the next run.

    Attributes:
        killed: where and when it was killed, in the words of the failpoint.
        left: the run as it is shown afterwards; None when it was never there.
        done: by run, what its steps really did before the kill.
        strays: processes that were left.
        again: how the next run ended.
    """

    killed: str = ""
    left: RunStatus | None = None
    done: Counter[str] = field(default_factory=Counter)
    strays: list[str] = field(default_factory=list)
    again: Phase = Phase.PENDING
    ledger: Counter[str] = field(default_factory=Counter)
    releases: list[str] = field(default_factory=list)
    head: str = ""
    waiting: list[str] = field(default_factory=list)
    artifacts: dict[str, bytes] = field(default_factory=dict)


def kill_and_go_on(home: Path, point: str) -> Aftermath:
    """Run the toy pipeline, kill it at `point`, look, run it again, look again."""
    home.mkdir(parents=True)
    Git(home).run("init", "-q", "--bare", str(home / "forge.git"))
    found = Aftermath()
    submit(home, "run", point)
    until(lambda: (home / "killed").exists() or settled(home))
    until(lambda: not lives(home, "run"))
    found.strays = strays(home)
    found.killed = (home / "killed").read_text() if (home / "killed").exists() else ""
    found.done = ledger(home)
    try:
        found.left = badday_engine.engine(home).results("run")
    except RunNotFound:
        found.left = None
    go_on(home, found)
    return found


def go_on(home: Path, found: Aftermath) -> None:
    """What `gpulab run` does: deliver what waits, start another run, follow it and the sync that it causes."""
    toy.after_run({"home": str(home)})
    submit(home, "run-2", "")
    engine, forge = badday_engine.engine(home), LocalForge(Home(home), lambda _: None)
    found.again = [*engine.follow("run-2")][-1].phase
    until(lambda: not lives(home, "run-2"))
    for run in sorted(one.name for one in (home / "runs").glob("sync-*")):
        assert [*engine.follow(run)][-1].phase is Phase.SUCCEEDED
    found.head = forge.head("deploy/teaching") or ""
    found.releases = Git(home / "forge.git").text("log", "--format=%s", "deploy/teaching").splitlines()
    found.ledger = ledger(home)
    found.waiting = [one.name for one in (home / "events").glob("*.json")]
    kept = (home / "artifacts").glob("toy/*/data")
    found.artifacts = {one.parent.name: one.read_bytes() for one in kept}


def submit(home: Path, run: str, point: str) -> None:
    variables = {"BADDAY_KILLED": str(home / "killed"), "PYTHONPATH": str(FAILPOINTS)}
    variables |= {"TOY_POINT": point} if point.startswith("step ") else {"BADDAY_POINT": point}
    command = [sys.executable, str(FAILPOINTS / "badday_engine.py"), str(home), run]
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=False)
    assert done.returncode in (0, -9), done.stderr


def ledger(home: Path) -> Counter[str]:
    file = home / "ledger"
    return Counter(file.read_text().splitlines() if file.exists() else [])


def settled(home: Path) -> bool:
    """The run went by without being killed."""
    try:
        return badday_engine.engine(home).results("run").phase.fulfilled and not lives(home, "run")
    except RunNotFound:
        return False


def lives(home: Path, run: str) -> bool:
    from gpulab.engines.local.record import if_abandoned

    if not (home / "runs" / run).is_dir():
        return False
    with if_abandoned(home / "runs" / run) as abandoned:
        return not abandoned


def strays(home: Path) -> list[str]:
    """The processes of the home's runs that are still there when they had their time to end; syncs are no strays."""
    deadline = time.monotonic() + 10
    while (found := working(home)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def working(home: Path) -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            where = str((entry / "cwd").readlink())
        except OSError:
            continue
        if (str(home) in words or where.startswith(str(home))) and "sync-" not in words + where:
            found.append(words)
    return found


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.03)
