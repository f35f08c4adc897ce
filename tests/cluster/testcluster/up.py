"""Bring the cluster up, or whatever of it is not up."""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from testcluster import build, content, debian, host, kube, parts, pki, processes, ready, rights, settings
from testcluster.errors import PlatformError, UsageError
from testcluster.files import write
from testcluster.layout import Layout
from testcluster.part import Part
from testcluster.versions import Versions

PATIENCE = 120.0  # seconds that a part may take to become ready; seen: 3 to 20
Say = Callable[[str], None]


def up(layout: Layout, versions: Versions, bare: bool, say: Say) -> None:
    """Start what does not run, wait until it is ready, fill it and describe it in cluster.json.

    Raises:
        UsageError: not root, or a program or a Debian package is missing.
        PlatformError: a part did not become ready.
    """
    if os.geteuid():
        raise UsageError("a cluster needs root (control groups, network, mounts): type sudo, or use another machine")
    debian.check(versions)
    program = build.programs(versions)
    began = time.monotonic()
    with alone(layout):
        host.prepare(layout)
        pki.make(layout)
        settings.write_all(layout, program)
        end_strays(layout)
        for stage in parts.stages(layout, program):
            _start_stage(layout, stage, say)
            if any(part.name == "kube-apiserver" for part in stage):
                kube.apply(layout, *rights.objects())
        say(f"control plane and nodes ready after {time.monotonic() - began:.0f} s")
        description = content.fill(layout, versions, program, bare, say)
        write(layout.description, description)
    say(f"up after {time.monotonic() - began:.0f} s: export KUBECONFIG={layout.kubeconfig}")


def end_strays(layout: Layout) -> None:
    """End parts whose start a crash kept from being recorded (a part leads its session; its children do not)."""
    known = {record.pid for file in layout.records.glob("*.json") if (record := processes.recorded(layout, file.stem))}
    strays = [pid for pid in processes.marked(layout) if pid not in known and _leads_session(pid)]
    processes.stop(*strays)


@contextmanager
def alone(layout: Layout) -> Iterator[None]:
    """One `up` or `down` at a time (a second one waits), and one cluster on a machine: addresses are the machine's."""
    folder = build.tools_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if others := ", ".join(sorted(processes.others(layout))):
            raise UsageError(f"a cluster is up in {others}: type python tests/cluster/cluster.py down --state {others}")
        yield


def _start_stage(layout: Layout, stage: list[Part], say: Say) -> None:
    started = {part.name: _start(layout, part) for part in stage}
    for part in stage:
        record = started[part.name]
        if not ready.wait(layout, part, PATIENCE, lambda record=record: record.alive):  # type: ignore[misc]
            state = "is not ready" if record.alive else "ended"
            last = "\n".join(layout.log(part.name).read_text(errors="replace").splitlines()[-15:])
            raise PlatformError(f"{part.name} {state}; its log {layout.log(part.name)} ends with:\n{last}")
        say(f"{part.name} ready")


def _start(layout: Layout, part: Part) -> processes.Record:
    found = processes.recorded(layout, part.name)
    if found and found.alive:
        if found.command == part.digest:
            return found
        processes.stop(found.pid)
    environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", **part.environment}
    return processes.start(layout, part.name, part.line, environment, part.digest)


def _leads_session(pid: int) -> bool:
    try:
        return os.getsid(pid) == pid
    except ProcessLookupError:
        return False
