"""One pod: input artifacts, containers in their order, outputs, and the phase and message that Argo would give it."""

import shutil
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from gpulab.engines.local.artifacts import ArtifactError, ArtifactStore
from gpulab.engines.local.containers import Container, ContainerError, path_map, prepare
from gpulab.engines.local.images import LocalImage, Resolver
from gpulab.engines.local.launcher import Pod, Report
from gpulab.engines.local.outputs import collect
from gpulab.engines.local.paths import PathMap
from gpulab.engines.local.process import Process
from gpulab.engines.local.settings import EngineSettings
from gpulab.engines.local.volumes import ReadOnly
from gpulab.engines.protocol import Json, Phase

NOT_STARTED, TERMINATED = 64, 143
DEADLINE = "Pod was active on the node longer than the specified deadline"
_MESSAGE_LIMIT = 4096


class PodError(Exception):
    """The pod cannot be set up: its node is an Error, as when Argo's init container fails."""


class LocalPod:
    """Runs a `Pod` in a folder of its own.

    Args:
        pods: the folder of this run's pods.
        logs: the folder of their output.
    """

    def __init__(
        self,
        pod: Pod,
        report: Callable[[Report], None],
        pods: Path,
        logs: Path,
        settings: EngineSettings,
        resolve: Resolver,
        store: ArtifactStore,
    ) -> None:
        self.pod = pod
        self.report = report
        self.settings = settings
        self.resolve = resolve
        self.store = store
        self.logs = logs
        self.folder = pods / pod.id
        self.template = pod.template
        self.containers = _containers(pod.template)
        self._raw = _containers(pod.raw)
        self._paths: dict[str, PathMap] = {}
        self._images: dict[str, LocalImage] = {}
        self._codes: dict[str, int] = {}
        self._messages: dict[str, str] = {}
        self._processes: dict[str, Process] = {}
        self._ended = threading.Condition()
        self._stopping = False
        self._failed = False
        self._late = False

    def run(self) -> None:
        """Run to the end; every outcome is a report."""
        try:
            self.report(Report(self.pod.id, Phase.RUNNING, log=self._log(self.pod.id)))
            self._set_up()
        except (PodError, ArtifactError, LookupError, OSError) as error:
            for node in self.pod.containers.values():
                self.report(Report(node, Phase.FAILED, "Pod Failed whilst container running"))
            self.report(Report(self.pod.id, Phase.ERROR, f"init: Error (exit code 64): {error}"))
            return
        timer = threading.Timer(self._seconds_left(), self._deadline)
        timer.daemon = True
        timer.start()
        threads = [threading.Thread(target=self._container, args=(name,)) for name in self.containers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        timer.cancel()
        self._conclude()

    def stop(self) -> None:
        """End all processes of the pod."""
        with self._ended:
            self._stopping = True
            processes = [*self._processes.values()]
            self._ended.notify_all()
        for process in processes:
            process.stop()

    # Before

    def _set_up(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.logs.mkdir(parents=True, exist_ok=True)
        for name, spec in self.containers.items():
            (self.folder / "containers" / name).mkdir(parents=True)
            self._images[name] = self.resolve(spec["image"])
            self._paths[name] = self._path_map(name, spec)
        for artifact in self.template.get("inputs", {}).get("artifacts", []):
            self._load(artifact)

    def _path_map(self, name: str, spec: Json) -> PathMap:
        mounts = {}
        for mount in [*spec.get("volumeMounts", []), *self._shared_mounts()]:
            mounts[mount["mountPath"]] = self.folder / "volumes" / mount["name"]
            mounts[mount["mountPath"]].mkdir(parents=True, exist_ok=True)
        declared = [artifact["path"] for artifact in self.template.get("outputs", {}).get("artifacts", [])]
        declared += [item["valueFrom"]["path"] for item in self.template.get("outputs", {}).get("parameters", [])]
        declared += [artifact["path"] for artifact in self.template.get("inputs", {}).get("artifacts", [])]
        root = self.folder / "containers" / name
        return path_map(spec, root, mounts, self._images[name], declared)

    def _shared_mounts(self) -> list[Json]:
        mounts: list[Json] = self.template.get("containerSet", {}).get("volumeMounts", [])
        return mounts

    def _load(self, artifact: Json) -> None:
        """Into the volume that holds its path, else shown to `main` alone (as Argo does)."""
        paths = self._paths["main" if "main" in self._paths else next(iter(self._paths))]
        target = paths.real(artifact["path"])
        if self.store.load(artifact["s3"]["key"], target):
            return
        if not artifact.get("optional"):
            raise PodError(f"artifact {artifact['name']} failed to load: no such key: {artifact['s3']['key']}")
        if target.is_relative_to(paths.root):
            target.mkdir(parents=True, exist_ok=True)

    def _seconds_left(self) -> float:
        limits = [float(self.template.get("activeDeadlineSeconds", threading.TIMEOUT_MAX))]
        if self.pod.deadline is not None:
            limits.append(max(0.0, self.pod.deadline - time.time()))
        return min(limits)

    def _deadline(self) -> None:
        self._late = True
        self.stop()

    # The containers

    def _container(self, name: str) -> None:
        code, message = NOT_STARTED, ""
        try:
            code, message = self._wait_for(self.containers[name].get("dependencies", []))
            if code == 0:
                code, message = self._start(name)
        except Exception as error:  # whatever it was, the container has not succeeded
            if not isinstance(error, ContainerError | OSError):
                traceback.print_exc()
            code, message = NOT_STARTED, str(error)
        with self._ended:
            self._codes[name], self._messages[name] = code, message
            self._failed = self._failed or code != 0
            self._ended.notify_all()
            others = [*self._processes.values()] if code else []
        for process in others:
            process.stop()
        self._report_container(name, code, message)

    def _wait_for(self, names: list[str]) -> tuple[int, str]:
        """0 when all have succeeded, else the code with which the container ends without having started."""
        for name in names:
            with self._ended:
                self._ended.wait_for(lambda name=name: name in self._codes or self._stopping)  # type: ignore[misc]
                if name not in self._codes:
                    return TERMINATED, ""
                if code := self._codes[name]:
                    return NOT_STARTED, f'dependency "{name}" exited with non-zero code: {code}'
        return 0, ""

    def _start(self, name: str) -> tuple[int, str]:
        paths, image = self._paths[name], self._images[name]
        container = prepare(self._raw[name], self.pod.scope, paths, image, self.settings.configmaps)
        guard = ReadOnly(self._guarded(name))
        try:
            code = self._run_process(name, container)
        finally:
            changed = guard.release()
        if changed:
            return code or 1, f"it wrote into a volume that it must only read: {', '.join(changed)}"
        return code, _read_message(container.message_file)

    def _run_process(self, name: str, container: Container) -> int:
        log = self.logs / f"{self.pod.containers.get(name, self.pod.id)}.log"
        with self._ended:
            if self._stopping or self._failed:
                return TERMINATED
            process = Process(container.argv, container.env, container.cwd, log, self.settings.grace_seconds)
            self._processes[name] = process
        if node := self.pod.containers.get(name):
            self.report(Report(node, Phase.RUNNING, log=self._log(node)))
        try:
            return process.wait()
        finally:
            with self._ended:
                del self._processes[name]

    def _guarded(self, name: str) -> dict[str, Path]:
        """Volumes that nobody may write while this container runs: those that no container at work mounts writable."""
        writers = {other for other in self.containers if other == name or not self._ordered(name, other)}
        mounts = [mount for other in writers for mount in self.containers[other].get("volumeMounts", [])]
        writable = {mount["name"] for mount in [*mounts, *self._shared_mounts()] if not mount.get("readOnly")}
        volumes = self.folder / "volumes"
        every = sorted(volumes.iterdir()) if volumes.is_dir() else []
        return {folder.name: folder for folder in every if folder.name not in writable}

    def _ordered(self, one: str, other: str) -> bool:
        """Does one of the two end before the other starts?"""
        return one in self._before(other) or other in self._before(one)

    def _before(self, name: str) -> set[str]:
        direct = set(self.containers[name].get("dependencies", []))
        return direct.union(*(self._before(other) for other in direct))

    def _report_container(self, name: str, code: int, message: str) -> None:
        if node := self.pod.containers.get(name):
            phase = Phase.FAILED if code != NOT_STARTED or self._late else Phase.ERROR
            said = "" if code == 0 else _failure(name, code, message)
            self.report(Report(node, Phase.SUCCEEDED if code == 0 else phase, said))

    # After

    def _conclude(self) -> None:
        code = self._codes.get("main")
        outputs: Json = {} if code is None else {"exitCode": str(code)}
        trouble = ""
        if not self._late and "main" in self._paths:
            collected, trouble = collect(self.template, self._paths["main"], self.store, self.folder)
            outputs |= collected
        bad = [name for name in sorted(self._codes) if self._codes[name]]
        if self._late:
            phase, message = Phase.FAILED, DEADLINE
        elif bad:
            phase, message = Phase.FAILED, _failure(bad[0], self._codes[bad[0]], self._messages[bad[0]])
        elif trouble:
            phase, message = Phase.ERROR, f"wait: Error (exit code 64): {trouble}"
        else:
            phase, message = Phase.SUCCEEDED, ""
            shutil.rmtree(self.folder, ignore_errors=True)
        self.report(Report(self.pod.id, phase, message, outputs))

    def _log(self, node: str) -> str:
        return "" if node == self.pod.id and self.pod.containers else f"logs/{node}.log"


def _containers(template: Json) -> dict[str, Json]:
    if "containerSet" in template:
        return {container["name"]: container for container in template["containerSet"]["containers"]}
    return {"main": template.get("container") or template["script"]}


def _failure(name: str, code: int, message: str) -> str:
    return f"{name}: Error (exit code {code})" + (f": {message}" if message else "")


def _read_message(file: Path) -> str:
    """What the container left in its message file, as the kubelet reads it: at most 4096 bytes."""
    if not file.is_file():
        return ""
    with file.open("rb") as stream:
        return stream.read(_MESSAGE_LIMIT).decode("utf-8", errors="replace").strip()
