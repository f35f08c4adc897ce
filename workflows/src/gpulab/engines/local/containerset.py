"""The containers of a pod: each starts when those it depends on have succeeded, and one failure ends them all."""

import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gpulab.engines.local.containers import Container, ContainerError
from gpulab.engines.local.process import Process
from gpulab.engines.local.volumes import ReadOnly
from gpulab.engines.protocol import Json

NOT_STARTED, TERMINATED = 64, 143
"""Exit codes of a container that Argo's emissary did not start, and of one that got SIGTERM."""

FALLBACK = "FallbackToLogsOnError"
_MESSAGE_LIMIT = 4096
_FALLBACK_LIMIT, _FALLBACK_LINES = 2048, 80


@dataclass(frozen=True)
class End:
    """How a container ended."""

    code: int
    message: str = ""


class ContainerSet:
    """Runs containers to their end.

    Args:
        specs: the containers by name, with `dependencies` and `volumeMounts`.
        shared: mounts that every container has.
        volumes: the folder of the pod's volumes.
        prepare: lays a container out just before it starts; may raise ContainerError.
        log: where a container's output goes.
        started: called with a container's name when its process runs.
        ended: called with its name and end.

    Attributes:
        ends: how the containers ended, by name.
        late: a deadline ended them.
    """

    def __init__(
        self,
        specs: Mapping[str, Json],
        shared: list[Json],
        volumes: Path,
        prepare: Callable[[str], Container],
        log: Callable[[str], Path],
        grace: float,
        started: Callable[[str], None],
        ended: Callable[[str, End], None],
    ) -> None:
        self.ends: dict[str, End] = {}
        self.late = False
        self._specs = specs
        self._shared = shared
        self._volumes = volumes
        self._prepare = prepare
        self._log = log
        self._grace = grace
        self._started = started
        self._ended = ended
        self._processes: dict[str, Process] = {}
        self._change = threading.Condition()
        self._stopping = False
        self._failed = False

    def run(self) -> None:
        """Run them all; afterwards `ends` has every container."""
        threads = [threading.Thread(target=self._container, args=(name,)) for name in self._specs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def stop(self, late: bool = False) -> None:
        """End all processes; `late` says that it is for a deadline, if anything was left to end."""
        with self._change:
            self._stopping = True
            self.late = self.late or (late and len(self.ends) < len(self._specs))
            processes = [*self._processes.values()]
            self._change.notify_all()
        for process in processes:
            process.stop()

    def _container(self, name: str) -> None:
        try:
            end = self._wait_for(self._specs[name].get("dependencies", [])) or self._start(name)
        except Exception as error:  # whatever it was, the container has not succeeded
            if not isinstance(error, ContainerError | OSError):
                traceback.print_exc()
            end = End(NOT_STARTED, str(error))
        with self._change:
            self.ends[name] = end
            self._failed = self._failed or end.code != 0
            self._change.notify_all()
            others = [*self._processes.values()] if end.code else []
        for process in others:
            process.stop()
        self._ended(name, end)

    def _wait_for(self, names: list[str]) -> End | None:
        """None when all have succeeded, else how a container that waits for them ends without having started."""
        for name in names:
            with self._change:
                while name not in self.ends and not self._stopping:
                    self._change.wait()
                end = self.ends.get(name)
            if end is None:
                return End(TERMINATED)
            if end.code:
                return End(NOT_STARTED, f'dependency "{name}" exited with non-zero code: {end.code}')
        return None

    def _start(self, name: str) -> End:
        container = self._prepare(name)
        guard = ReadOnly(self._guarded(name))
        try:
            code = self._run(name, container)
        finally:
            changed = guard.release()
        if changed:
            return End(code or 1, f"it wrote into a volume that it must only read: {', '.join(changed)}")
        message = _read_message(container.message_file)
        if code and not message and self._specs[name].get("terminationMessagePolicy") == FALLBACK:
            message = _last_words(self._log(name))
        return End(code, message)

    def _run(self, name: str, container: Container) -> int:
        with self._change:
            if self._stopping or self._failed:
                return TERMINATED
            process = Process(container.argv, container.env, container.cwd, self._log(name), self._grace)
            self._processes[name] = process
        self._started(name)
        try:
            return process.wait()
        finally:
            with self._change:
                del self._processes[name]

    def _guarded(self, name: str) -> dict[str, Path]:
        """Volumes that nobody may write while this container runs: no container that can be at work mounts them so."""
        at_work = [other for other in self._specs if other == name or not self._ordered(name, other)]
        mounts = [mount for other in at_work for mount in self._specs[other].get("volumeMounts", [])]
        writable = {mount["name"] for mount in [*mounts, *self._shared] if not mount.get("readOnly")}
        every = sorted(self._volumes.iterdir()) if self._volumes.is_dir() else []
        return {folder.name: folder for folder in every if folder.name not in writable}

    def _ordered(self, one: str, other: str) -> bool:
        """Does one of the two end before the other starts?"""
        return one in self._before(other) or other in self._before(one)

    def _before(self, name: str) -> set[str]:
        direct = set(self._specs[name].get("dependencies", []))
        return direct.union(*(self._before(other) for other in direct))


def _read_message(file: Path) -> str:
    """What the container left in its message file, as the kubelet reads it: at most 4096 bytes."""
    if not file.is_file():
        return ""
    with file.open("rb") as stream:
        return stream.read(_MESSAGE_LIMIT).decode("utf-8", errors="replace").strip()


def _last_words(log: Path) -> str:
    """The end of a container's log, as the kubelet takes it for a message: at most 2048 bytes and 80 lines."""
    with log.open("rb") as stream:
        stream.seek(max(0, log.stat().st_size - _FALLBACK_LIMIT))
        text = stream.read().decode("utf-8", errors="replace")
    return "\n".join(text.splitlines()[-_FALLBACK_LINES:]).strip()
