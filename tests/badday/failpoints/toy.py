"""Steps and deliveries of the toy pipeline: real forge, real outbox, no torch. Run as `toy.py STEP HOME RUN`."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

STEPS_IMAGE = "steps:test"


def ledger(home: Path, line: str) -> None:
    """What really happened, written by those who did it."""
    with (home / "ledger").open("a") as file:
        file.write(f"{line}\n")


def release(home: Path, run: str) -> None:
    """As the real step: commit to deploy/teaching unless this run's release is there; the forge keeps the event."""
    from gpulab.forges.local.forge import LocalForge
    from gpulab.forges.local.outbox import put
    from gpulab.home import Home

    def deliver(event: object) -> None:
        kill_at("step", "release: committed", home, run)
        put(Home(home), event)
        kill_at("step", "release: event kept", home, run)

    forge = LocalForge(Home(home), deliver)
    new, head = json.dumps({"run": run}).encode(), forge.head("deploy/teaching")
    kill_at("step", "release: nothing done", home, run)
    if head is None or forge.read(head, "release.json") != new:
        forge.commit("deploy/teaching", {"release.json": new}, f"Release of {run}", head)


def kill_at(operation: str, words: str, home: Path, run: str) -> None:
    """Kill the supervisor from inside a step, as a machine that goes down would; once."""
    if os.environ.get("TOY_POINT") != f"{operation} {words}":
        return
    try:
        os.close(os.open(home / "killed", os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    (home / "killed").write_text(f"{operation} {words}")
    os.kill(int((home / "runs" / run / "supervisor.lock").read_text()), signal.SIGKILL)
    subprocess.Popen(["sleep", "60"], start_new_session=True)  # it must not outlive the run either
    time.sleep(60)


def after_run(settings: dict[str, str]) -> None:
    """What the engine calls at the end of a run: deliver what its steps caused."""
    from gpulab.forges.local.outbox import take
    from gpulab.home import Home

    home = Path(settings["home"])
    take(Home(home), lambda event: deliver(home, event.after))


def deliver(home: Path, commit: str) -> None:
    """Start the sync of a release, whose name comes from the commit."""
    from badday_engine import SYNC, engine
    from gpulab.engines.errors import AlreadyExists

    try:
        engine(home).submit(f"sync-{commit[:12]}", SYNC, {"home": str(home), "commit": commit})
    except AlreadyExists:
        return


if __name__ == "__main__":
    step, root, name = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    if step == "release":
        release(root, name)
    ledger(root, f"{name} {step}")
