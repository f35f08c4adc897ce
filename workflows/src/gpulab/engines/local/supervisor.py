"""The process that runs one workflow to its end: `python -m gpulab.engines.local.supervisor RUN_FOLDER LOCK`.

Detached from whoever submitted the run. SIGTERM stops the run and leaves a truthful `run.json`; a second SIGTERM ends
the process at once, and whoever reads next repairs the file.
"""

import importlib
import os
import sys
import traceback
from functools import partial
from pathlib import Path
from queue import Empty

import yaml

from gpulab.engines.local import clock, log, record
from gpulab.engines.local.artifacts import ArtifactStore
from gpulab.engines.local.controller import Controller
from gpulab.engines.local.features import select
from gpulab.engines.local.images import load_resolver
from gpulab.engines.local.launcher import Launcher, Report
from gpulab.engines.local.locks import Mutexes
from gpulab.engines.local.paths import plain_path
from gpulab.engines.local.pods import LocalPod
from gpulab.engines.local.settings import EngineSettings
from gpulab.engines.protocol import Phase
from gpulab.errors import PlatformError
from gpulab.system import SYSTEM

STOP = Report("", None)
LONGEST_WAIT = 3600.0


class Supervisor:
    """One run, from its folder, with its pods in another."""

    def __init__(self, folder: Path, pods: Path) -> None:
        self.folder = folder
        self.settings = EngineSettings.load(folder / "engine.json")
        self.run = record.load(folder)
        clock.not_before(record.seconds(self.run.started_at))
        self._saved = ""
        home = Path(self.settings.home)
        resolve, store = load_resolver(self.settings), ArtifactStore(home / "artifacts")
        settings, logs = self.settings, folder / "logs"
        make = partial(LocalPod, pods=pods, logs=logs, settings=settings, resolve=resolve, store=store)
        self.launcher = Launcher(settings.limit, make)
        manifest = yaml.safe_load((folder / "workflow.yaml").read_text(encoding="utf-8"))
        manifest["spec"] = select(manifest["spec"])[0]
        self.controller = Controller(manifest, self.run, self.launcher, Mutexes(home / "locks"))

    def supervise(self) -> None:
        """Pass after pass, with a rest until a pod reports something."""
        while not self._ended():
            self._save()
        record.save(self.folder, self.run)

    def _save(self) -> None:
        """Between the first record and the last: a disk that is full for a moment must not end the run."""
        text = record.dump(self.run)
        if text == self._saved:
            return
        try:
            record.write_atomically(self.folder / record.FILE, text)
            self._saved = text
        except PlatformError as full:
            print(full, file=sys.stderr)

    def _ended(self) -> bool:
        while True:
            if self.controller.operate():
                return True
            if self.controller.tree.changed:
                continue
            if not self.launcher.busy and self.controller.wake_at is None:
                return self.controller.finish(Phase.ERROR, "nothing can run any more, and the workflow is not over")
            self._save()
            if self._listen():
                return True

    def _listen(self) -> bool:
        """Take in what pods report; True when the run was stopped meanwhile."""
        wait = None if self.controller.wake_at is None else max(0.0, self.controller.wake_at - clock.posix())
        try:
            report = self.launcher.reports.get(timeout=None if wait is None else min(wait, LONGEST_WAIT))
        except Empty:
            return False
        if report is STOP:
            self.stop()
            return True
        self.controller.apply(report)
        return False

    def stop(self) -> None:
        """Stop all pods, take in their last words, and end the run."""
        self.launcher.stop()
        while not self.launcher.reports.empty():
            report = self.launcher.reports.get()
            if report is not STOP and report.phase is Phase.SUCCEEDED:
                self.controller.apply(report)
        self.controller.terminate()


def main(folder: Path) -> int:
    """Run it; the exit code is 0 when `run.json` tells the end, whatever that end is."""
    asked: list[int] = []
    supervisor: Supervisor | None = None

    def stop() -> None:
        asked.append(1)
        if len(asked) > 1:
            os._exit(143)
        if supervisor:
            supervisor.launcher.reports.put(STOP)

    SYSTEM.on_stop(folder, stop)
    try:
        with plain_path(folder / "pods") as pods:
            supervisor = Supervisor(folder, pods)
            if asked:
                supervisor.launcher.reports.put(STOP)
            supervisor.supervise()
        _after(supervisor.settings)
    except Exception as error:  # the reader has to learn of it, whatever it was
        traceback.print_exc()
        return _give_up(folder, supervisor, error)
    return 0


def _after(settings: EngineSettings) -> None:
    """Tell whoever waits for the run's end (the local forge sends the events that the run caused)."""
    module, _, function = settings.after_run.partition(":")
    if function:
        getattr(importlib.import_module(module), function)(settings.after_run_settings)


def _give_up(folder: Path, supervisor: Supervisor | None, error: Exception) -> int:
    if supervisor:
        supervisor.launcher.stop()
    try:
        run = supervisor.run if supervisor else record.load(folder)
        if not run.phase.fulfilled:
            record.end_killed(run, f"the engine failed: {error}")
        record.save(folder, run)
    except PlatformError as full:
        print(full, file=sys.stderr)
    return 3


if __name__ == "__main__":
    log.take_over()
    run_folder = Path(sys.argv[1])
    held = SYSTEM.hold(sys.argv[2], run_folder / record.LOCK)
    os.write(held, f"{os.getpid()}\n".encode())
    sys.exit(main(run_folder))
