"""One pod: input artifacts, containers, outputs, and the phase and message that Argo would give it."""

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

from gpulab.engines.local import clock
from gpulab.engines.local.artifacts import ArtifactError, ArtifactStore
from gpulab.engines.local.containers import Container, path_map, prepare
from gpulab.engines.local.containerset import NOT_STARTED, ContainerSet, End
from gpulab.engines.local.images import LocalImage, Resolver
from gpulab.engines.local.launcher import Pod, Report
from gpulab.engines.local.outputs import collect
from gpulab.engines.local.paths import PathMap
from gpulab.engines.local.settings import EngineSettings
from gpulab.engines.protocol import Json, Phase

DEADLINE = "Pod was active on the node longer than the specified deadline"


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
        self._specs = _containers(pod.template)
        self._raw = _containers(pod.raw)
        self._shared: list[Json] = pod.template.get("containerSet", {}).get("volumeMounts", [])
        self._paths: dict[str, PathMap] = {}
        self._images: dict[str, LocalImage] = {}
        self._stopped = False
        self._containers = ContainerSet(
            self._specs,
            self._shared,
            self.folder / "volumes",
            self._prepare,
            lambda name: self.logs / f"{self._node(name)}.log",
            settings.grace_seconds,
            self._container_started,
            self._container_ended,
        )

    def run(self) -> None:
        """Run to the end; every outcome is a report."""
        self.report(Report(self.pod.id, Phase.RUNNING, log="" if self.pod.containers else self._log(self.pod.id)))
        try:
            self._set_up()
        except (PodError, ArtifactError, LookupError, OSError) as error:
            for node in self.pod.containers.values():
                self.report(Report(node, Phase.FAILED, "Pod Failed whilst container running"))
            self.report(Report(self.pod.id, Phase.ERROR, f"init: Error (exit code 64): {error}"))
            return
        timer = threading.Timer(self._seconds_left(), self._containers.stop, kwargs={"late": True})
        timer.daemon = True
        timer.start()
        self._containers.run()
        timer.cancel()
        self._conclude()

    def stop(self) -> None:
        """End all processes of the pod."""
        self._stopped = True
        self._containers.stop()

    def _seconds_left(self) -> float:
        limits = [float(self.template.get("activeDeadlineSeconds", threading.TIMEOUT_MAX))]
        if self.pod.deadline is not None:
            limits.append(max(0.0, self.pod.deadline - clock.posix()))
        return min(limits)

    # Before

    def _set_up(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.logs.mkdir(parents=True, exist_ok=True)
        for name, spec in self._specs.items():
            (self.folder / "containers" / name).mkdir(parents=True)
            self._images[name] = self.resolve(spec["image"])
            self._paths[name] = self._path_map(name, spec)
        for artifact in self.template.get("inputs", {}).get("artifacts", []):
            self._load(artifact)

    def _path_map(self, name: str, spec: Json) -> PathMap:
        mounts = {}
        for mount in [*spec.get("volumeMounts", []), *self._shared]:
            mounts[mount["mountPath"]] = self.folder / "volumes" / mount["name"]
            mounts[mount["mountPath"]].mkdir(parents=True, exist_ok=True)
        inputs, outputs = self.template.get("inputs", {}), self.template.get("outputs", {})
        declared = [artifact["path"] for side in (inputs, outputs) for artifact in side.get("artifacts", [])]
        declared += [item["valueFrom"]["path"] for item in outputs.get("parameters", [])]
        return path_map(spec, self.folder / "containers" / name, mounts, self._images[name], declared)

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

    def _prepare(self, name: str) -> Container:
        return prepare(self._raw[name], self.pod.scope, self._paths[name], self._images[name], self.settings.configmaps)

    # Meanwhile

    def _node(self, name: str) -> str:
        return self.pod.containers.get(name, self.pod.id)

    def _log(self, node: str) -> str:
        return f"logs/{node}.log"

    def _container_started(self, name: str) -> None:
        if node := self.pod.containers.get(name):
            self.report(Report(node, Phase.RUNNING, log=self._log(node)))

    def _container_ended(self, name: str, end: End) -> None:
        node = self.pod.containers.get(name)
        if node and end.code == 0:
            self.report(Report(node, Phase.SUCCEEDED))
        elif node:
            phase = Phase.ERROR if end.code == NOT_STARTED and not self._containers.late else Phase.FAILED
            self.report(Report(node, phase, _failure(name, end)))

    # After

    def _conclude(self) -> None:
        ends = self._containers.ends
        outputs: Json = {"exitCode": str(ends["main"].code)} if "main" in ends else {}
        trouble = ""
        if "main" in ends and not (self._containers.late or self._stopped):
            collected, trouble = collect(self.template, self._paths["main"], self.store, self.folder)
            outputs |= collected
        bad = [name for name in sorted(ends) if ends[name].code]
        if self._containers.late:
            phase, message = Phase.FAILED, DEADLINE
        elif bad:
            phase, message = Phase.FAILED, _failure(bad[0], ends[bad[0]])
        elif trouble:
            phase, message = Phase.ERROR, f"wait: Error (exit code 64): {trouble}"
        else:
            phase, message = Phase.SUCCEEDED, ""
            shutil.rmtree(self.folder, ignore_errors=True)
        self.report(Report(self.pod.id, phase, message, outputs))


def _containers(template: Json) -> dict[str, Json]:
    if "containerSet" in template:
        return {container["name"]: container for container in template["containerSet"]["containers"]}
    return {"main": template.get("container") or template["script"]}


def _failure(name: str, end: End) -> str:
    """Argo's words for a failed container."""
    return f"{name}: Error (exit code {end.code})" + (f": {end.message}" if end.message else "")
