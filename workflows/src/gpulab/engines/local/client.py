"""The local engine as its users see it: submit, follow, cancel, results."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from gpulab.engines.errors import AlreadyExists, CorruptRun
from gpulab.engines.local import record, references
from gpulab.engines.local.artifacts import ArtifactError, ArtifactStore
from gpulab.engines.local.features import select
from gpulab.engines.local.settings import EngineSettings
from gpulab.engines.protocol import Change, Json, NodeStatus, Phase, RunStatus
from gpulab.errors import InputError, PlatformError

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_KINDS = ("WorkflowTemplate", "ClusterWorkflowTemplate")
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
        if not _NAME.fullmatch(name):
            raise InputError(f"{name!r} is no run's name: lower-case letters, digits and '-', at most 63")
        return self.home / "runs" / name

    def submit(self, name: str, template: Mapping[str, Any], parameters: Mapping[str, str]) -> None:
        """Start a run in a process of its own and return at once (see `Engine.submit`)."""
        folder = self.folder(name)
        if folder.exists():
            raise AlreadyExists(f"the run {name} exists already: gpulab watch {name}")
        manifest = _manifest(name, template, parameters)
        try:
            lock = self._lay_out(folder, name, manifest)
        except OSError as error:
            raise PlatformError(f"{folder}: cannot be written ({error.strerror or error})") from error
        _detach(folder, lock)

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
            lock = record.take_lock(draft)
            try:
                draft.rename(folder)
            except OSError as error:
                os.close(lock)
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
            yield from _changes(run, seen, folder)
            if run.phase.fulfilled:
                return
            time.sleep(_POLL_SECONDS)

    def cancel(self, name: str) -> None:
        """Stop a run and wait until all its processes are gone; a run that has ended stays as it is."""
        folder = self.folder(name)
        if record.load_truth(folder).phase.fulfilled:
            return
        supervisor = _supervisor(folder)
        patience = self.settings.grace_seconds + 15
        for number in (signal.SIGTERM, signal.SIGKILL):
            if supervisor:
                _send(supervisor, number)
            if record.wait_for_end(folder, patience):
                break
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


def _manifest(name: str, template: Mapping[str, Any], parameters: Mapping[str, str]) -> Json:
    """The Workflow that the template becomes with these parameters.

    Raises:
        InputError: names everything that cannot be run.
    """
    if template.get("kind") not in _KINDS:
        raise InputError(f"kind: {template.get('kind')!r} cannot be run; it has to be {' or '.join(_KINDS)}")
    spec, problems = select(template.get("spec"))
    problems += [] if problems else references.check(spec)
    problems += _check_parameters(spec, parameters)
    if problems:
        listed = "\n  ".join(problems)
        raise InputError(f"{template.get('metadata', {}).get('name')}: the local engine cannot run this:\n  {listed}")
    whole = dict(template["spec"])
    whole["arguments"] = {
        "parameters": [
            {"name": item["name"], "value": parameters.get(item["name"], item.get("value"))}
            for item in spec.get("arguments", {}).get("parameters", [])
        ]
    }
    metadata = {"name": name, "uid": str(uuid.uuid4()), "creationTimestamp": record.now()}
    return {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": metadata, "spec": whole}


def _check_parameters(spec: Json, given: Mapping[str, str]) -> Iterator[str]:
    declared = {item.get("name"): item for item in spec.get("arguments", {}).get("parameters", [])}
    for name, item in declared.items():
        value = given.get(name, item.get("value"))
        if value is None:
            yield f"parameter {name}: is missing"
        elif "{{" in str(value):
            yield f"parameter {name}: holds '{{{{', which Argo would expand: {str(value)[:80]!r}"
    for name, value in given.items():
        if name not in declared:
            yield f"parameter {name}: is unknown; there are {', '.join(map(str, declared)) or 'none'}"
        elif not isinstance(value, str):
            yield f"parameter {name}: has to be a text, is {type(value).__name__}"


def _detach(folder: Path, lock: int) -> None:
    """Start the supervisor in its own session, with nothing of ours but the lock that says it lives."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # until the supervisor can handle it
    try:
        with (folder / "supervisor.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "gpulab.engines.local.supervisor", str(folder.resolve()), str(lock)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={key: value for key, value in os.environ.items() if not key.startswith("GIT_")},
                cwd=folder,
                pass_fds=(lock,),
                start_new_session=True,
            )
    except OSError as error:
        raise PlatformError(f"{folder}: the run cannot be started ({error.strerror or error})") from error
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.close(lock)
    threading.Thread(target=process.wait, daemon=True).start()


def _supervisor(folder: Path) -> int | None:
    """The process that runs it, which writes its id as the first thing; None when it does not come up."""
    for _ in range(50):
        text = (folder / record.LOCK).read_text(encoding="utf-8").strip()
        if text.isdigit():
            return int(text)
        time.sleep(_POLL_SECONDS)
    return None


def _send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
    except PermissionError as error:
        raise PlatformError(f"the run belongs to another user (process {pid})") from error


def _patiently(folder: Path) -> RunStatus:
    """The truth, read again for a moment when the file is damaged: a file system may show it half-written."""
    for _ in range(4):
        try:
            return record.load_truth(folder)
        except CorruptRun:
            time.sleep(_POLL_SECONDS)
    return record.load_truth(folder)


def _changes(run: RunStatus, seen: dict[str, Phase], folder: Path) -> Iterator[Change]:
    new = [node for node in run.nodes.values() if seen.get(node.id) != node.phase]
    for node in sorted(new, key=_order):
        seen[node.id] = node.phase
        log = folder / node.log if node.log else None
        yield Change(node.finished_at or node.started_at, node.display_name, node.type, node.phase, node.message, log)
    if seen.get("") != run.phase:
        seen[""] = run.phase
        yield Change(run.finished_at or run.started_at, run.name, "Workflow", run.phase, run.message)


def _order(node: NodeStatus) -> tuple[str, int]:
    """By time; at the same moment a DAG begins before its tasks and ends after them."""
    depth = len(node.name)
    return (node.finished_at, -depth) if node.finished_at else (node.started_at, depth)
