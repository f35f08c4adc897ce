"""`ImageBuilder` in a cluster: start the pod of a build, wait for it, read what became of it, remove it."""

import contextlib
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from gpulab.errors import PlatformError
from gpulab.images.buildkit.log import read_log
from gpulab.images.buildkit.outcome import why_failed
from gpulab.images.buildkit.pod import BUILD_SECONDS, LABELS, build_pod, pod_name
from gpulab.images.buildkit.settings import BuildSettings
from gpulab.images.protocol import BuildFailedError, BuildRequest, BuiltImage
from gpulab.images.registry import Registry
from gpulab.kubernetes import Api, ApiError, path_of
from gpulab.kubernetes.pods import ended, statuses, trouble

POLL_SECONDS = 1.0
GONE_SECONDS = 90
LEFT_BEHIND = timedelta(hours=1)
"""Age at which a pod that has ended is nobody's any more: its run was stopped before it could remove it."""

BUILD_FAILED = 1
"""Exit code of `gpulab-build` when buildctl failed; with any other the log says nothing about the project."""

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True)
class BuildKitBuilder:
    """One project's builds; see `ImageBuilder`.

    Attributes:
        clock: seconds that only grow.
        pause: waits some seconds.
    """

    api: Api
    settings: BuildSettings
    registry: Registry
    clock: Callable[[], float] = time.monotonic
    pause: Callable[[float], object] = time.sleep

    def build(self, request: BuildRequest) -> BuiltImage:
        """See `ImageBuilder.build`."""
        lane, name = self._lane(request.lane), pod_name(request.run)
        self._remove_left_behind()
        self._remove(name)
        self.api.create(self._path(), build_pod(self.settings, request, lane))
        try:
            digest = self._conclude(self._wait(name))
        finally:
            with contextlib.suppress(ApiError):
                self.api.delete(self._path(name))
        if not self.has(digest):
            raise PlatformError(f"BuildKit says it pushed {digest}, but {self.settings.repository} does not hold it")
        return BuiltImage(self.settings.repository, digest, "image", lane)

    def has(self, digest: str) -> bool:
        """See `ImageBuilder.has`."""
        return self.registry.has(digest)

    def _lane(self, name: str) -> str:
        try:
            return self.settings.lanes[name]
        except KeyError:
            key = f"GPULAB_LANE_{name.upper()}"
            raise PlatformError(f"ConfigMap gpulab has no {key}: this platform builds no lane {name}") from None

    def _path(self, name: str = "") -> str:
        return path_of("v1", "Pod", self.settings.namespace, name)

    def _remove(self, name: str) -> None:
        """Remove what an earlier attempt has left, and wait until its name is free."""
        end = self.clock() + GONE_SECONDS
        while self.api.delete(self._path(name)):
            if self.clock() >= end:
                raise PlatformError(f"pod {name} of an earlier attempt does not go away")
            self.pause(POLL_SECONDS)

    def _remove_left_behind(self) -> None:
        selector = ",".join(f"{key}={value}" for key, value in LABELS.items())
        for pod in self.api.list(self._path(), labelSelector=selector):
            created = datetime.fromisoformat(pod["metadata"]["creationTimestamp"])
            has_ended = pod["status"].get("phase") in ("Succeeded", "Failed")
            if has_ended and datetime.now(UTC) - created > LEFT_BEHIND:
                self.api.delete(self._path(pod["metadata"]["name"]))

    def _wait(self, name: str) -> dict[str, Any]:
        end = self.clock() + BUILD_SECONDS
        while True:
            pod = self.api.get(self._path(name))
            if pod is None:
                raise PlatformError(f"build pod {name} was deleted while it was at work")
            if pod["status"].get("phase") in ("Succeeded", "Failed"):
                return pod
            if self.clock() >= end:
                found = trouble(pod)
                why = found.message if found else "it is still at work"
                raise PlatformError(f"build pod {name} did not end within {BUILD_SECONDS} s: {why}")
            self.pause(POLL_SECONDS)

    def _conclude(self, pod: dict[str, Any]) -> str:
        """The digest that was pushed.

        Raises:
            BuildFailedError: the commit does not build.
            PlatformError: anything else became of the pod.
        """
        name = pod["metadata"]["name"]
        ends = {one["name"]: ended(one) or {} for one in statuses(pod)}
        build, fetch = ends.get("build", {}), ends.get("fetch", {})
        log = read_log(self.api.text(f"{self._path(name)}/log", container="build") if build else "")
        for line in log.text():
            print(line, flush=True)
        if pod["status"]["phase"] == "Succeeded":
            return _digest(build.get("message", ""), name)
        lost = trouble(pod)
        if lost is None and build.get("exitCode") == BUILD_FAILED and build.get("reason") != "OOMKilled":
            failure = why_failed(log)
            if failure.is_projects:
                raise BuildFailedError(failure.reason, failure.lines)
            raise PlatformError(f"the image could not be built: {failure.reason}"[:600])
        raise PlatformError(f"build pod {name}: {lost.message if lost else _end(fetch, build)}"[:600])


def _digest(message: str, pod: str) -> str:
    try:
        digest = str(json.loads(message)["containerimage.digest"])
    except (ValueError, KeyError, TypeError):
        digest = ""
    if not _DIGEST.fullmatch(digest):
        raise PlatformError(f"build pod {pod} succeeded and left no digest: {message[:200]!r}")
    return digest


def _end(fetch: Mapping[str, Any], build: Mapping[str, Any]) -> str:
    """How the container ended that ended badly."""
    which, end = ("build", build) if build.get("exitCode") else ("fetch", fetch)
    message = str(end.get("message", "")).strip()
    told = f"container {which} ended with exit code {end.get('exitCode', 'unknown')} ({end.get('reason', 'unknown')})"
    return f"{told}: {message}" if message else told
