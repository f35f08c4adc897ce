"""The local engine as its users see it: submit, follow, cancel, results."""

import os
import shutil
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from gpulab.engines.changes import changes
from gpulab.engines.errors import AlreadyExists, CorruptRun
from gpulab.engines.local import detach, record
from gpulab.engines.local.artifacts import ArtifactError, ArtifactStore
from gpulab.engines.local.manifest import workflow
from gpulab.engines.local.settings import EngineSettings
from gpulab.engines.protocol import Change, Json, Phase, RunStatus, run_name
from gpulab.errors import InputError, PlatformError

_POLL_SECONDS = 0.1


class LocalEngine:
    """Runs workflows on this machine, below `settings.home`."""

    def __init__(self, settings: EngineSettings) -> None:
        self.settings = settings
        self.home = Path(settings.home)
        self.store = ArtifactStore(self.home / "artifacts")

    def folder(self, name: str) -> Path:
        """The run's folder: workflow.yaml, engine.json, run.json, logs/, pods/.

        Raises:
            InputError: it can be no run's name.
        """
        return self.home / "runs" / run_name(name)

    def submit(self, name: str, template: Mapping[str, Any], parameters: Mapping[str, str]) -> None:
        """Start a run in a process of its own and return at once (see `Engine.submit`)."""
        folder = self.folder(name)
        if folder.exists() and record.begun(folder):
            raise AlreadyExists(f"the run {name} exists already: gpulab watch {name}")
        manifest = workflow(name, template, parameters)
        try:
            lock = self._left_behind(folder, name) if folder.exists() else self._lay_out(folder, name, manifest)
        except OSError as error:
            raise PlatformError(f"{folder}: cannot be written ({error.strerror or error})") from error
        detach.start(folder, lock)

    def _left_behind(self, folder: Path, name: str) -> int:
        """Take on a run whose submitter was killed right before it began. Gives the held lock."""
        lock = record.take_over(folder)
        if lock is None:
            raise AlreadyExists(f"the run {name} exists already: gpulab watch {name}")
        return lock

    def _lay_out(self, folder: Path, name: str, manifest: Json) -> int:
        """Put the run's folder in place, whole or not at all; the first of two wins. Gives the held lock."""
        draft = self.home / "drafts" / f"{name}.{uuid.uuid4().hex}"
        draft.mkdir(parents=True)
        folder.parent.mkdir(exist_ok=True)
        try:
            text = yaml.safe_dump(manifest, sort_keys=False, allow_unicode=True, width=1000)
            record.write_atomically(draft / "workflow.yaml", text)
            record.write_atomically(draft / "engine.json", self.settings.dump())
            record.save(draft, RunStatus(name, Phase.PENDING, started_at=record.now()))
            _in_order(draft / "workflow.yaml", folder.parent)
            lock = record.take_lock(draft)
            try:
                draft.rename(folder)
            except OSError as error:
                detach.let_go(lock)
                if folder.exists():
                    raise AlreadyExists(f"the run {name} exists already: gpulab watch {name}") from error
                raise
            return lock
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def follow(self, name: str) -> Iterator[Change]:
        """Every change of phase until the end; leaving early leaves the run alone (see `Engine.follow`)."""
        folder = self.folder(name)
        seen: dict[str, Phase] = {}
        while True:
            run = _patiently(folder)
            yield from changes(run, seen, lambda node: folder / node.log if node.log else None)
            if run.phase.fulfilled:
                return
            time.sleep(_POLL_SECONDS)

    def cancel(self, name: str) -> None:
        """Stop a run and wait until all its processes are gone; a run that has ended stays as it is."""
        folder = self.folder(name)
        if record.load_truth(folder).phase.fulfilled:
            return
        detach.stop(folder, self.settings.grace_seconds + 15)
        record.load_truth(folder)

    def results(self, name: str) -> RunStatus:
        """The status as it is now, made truthful first when the engine was killed (see `Engine.results`)."""
        return record.load_truth(self.folder(name))

    def artifact(self, key: str) -> Path:
        """Where the file or folder lies, whether it is there or not (see `Engine.artifact`)."""
        try:
            return self.store.path(key)
        except ArtifactError as error:
            raise InputError(str(error)) from error


def _in_order(workflow_file: Path, runs: Path) -> None:
    """Make it the newest of all runs, whose order is the time of that file: the clock may have been set back."""
    others = [one.stat().st_mtime for one in runs.glob("*/workflow.yaml")]
    if others and max(others) >= workflow_file.stat().st_mtime:
        os.utime(workflow_file, (max(others) + 0.001,) * 2)


def _patiently(folder: Path) -> RunStatus:
    """The truth, read again for a moment when the file is damaged: a file system may show it half-written."""
    for _ in range(4):
        try:
            return record.load_truth(folder)
        except CorruptRun:
            time.sleep(_POLL_SECONDS)
    return record.load_truth(folder)
