"""Compile the groups that are not in the cache, say what is being done, stop in time."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from testcluster import debian, images
from testcluster import plan as planning
from testcluster.errors import PlatformError, UsageError
from testcluster.versions import HERE, Group, Versions, key

MODULES = HERE / "modules"
Say = Callable[[str], None]


def tools_folder() -> Path:
    """Where built programs are kept: GPULAB_CLUSTER_TOOLS, else the user's cache."""
    chosen = os.environ.get("GPULAB_CLUSTER_TOOLS")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(chosen) if chosen else cache / "gpulab" / "cluster-tools"


def steps_of(versions: Versions, tools: Path) -> list[planning.Step]:
    """Every group with its folder in the cache."""
    return planning.plan(versions, tools, {group.name: _key(group, versions.go) for group in versions.groups})


def programs(versions: Versions) -> Callable[[str], Path]:
    """Where each built program is; raises UsageError when a group is not built."""
    steps = steps_of(versions, tools_folder())
    missing = [step.group for step in steps if not step.built]
    if missing:
        names = ", ".join(group.name for group in missing)
        seconds = sum(group.seconds for group in missing)
        raise UsageError(f"not built: {names}. Type: python tests/cluster/cluster.py build (about {seconds} s)")
    found = {name: step.program(name) for step in steps for name in step.group.programs}
    return found.__getitem__


def build(versions: Versions, only: str | None, within: float | None, say: Say) -> int:
    """Build what is missing. 0 when everything asked for is there, 3 when time was too short."""
    tools, began = tools_folder(), time.monotonic()
    steps = {step.group.name: step for step in steps_of(versions, tools)}
    jobs = [planning.Job(name, step.group.seconds, step.built) for name, step in steps.items()]
    try:
        todo = planning.chosen([*jobs, planning.Job("images", images.estimate(versions, tools), False)], only)
    except ValueError as error:
        raise UsageError(str(error)) from None
    debian.install(versions)
    if any(job.name in steps for job in todo):
        _check_compiler(versions.go)
    for number, job in enumerate(todo):
        if not planning.fits(job, time.monotonic() - began, within):
            say(planning.unfinished(todo[number:], within))
            return 3
        say(planning.announced(todo, number))
        spent = time.monotonic()
        if job.name in steps:
            _build(steps[job.name])
        else:
            images.make(versions, tools, programs(versions))
        say(f"{job.name} built in {time.monotonic() - spent:.0f} s")
    return 0


def _build(step: planning.Step) -> None:
    group, folder = step.group, step.folder
    (folder / "bin").mkdir(parents=True, exist_ok=True)
    source = _program_source(group) if group.sum else MODULES / group.name
    for name, package in group.binaries.items():
        out = step.program(name)
        _go(planning.command(group, package, out), source, group)
        _publish(out)
        for alias in group.names:
            _link(step.program(alias), Path(name))
            _publish(step.program(alias))
    for shared in group.share:
        shutil.copytree(source / shared, folder / "share" / shared, dirs_exist_ok=True, copy_function=_copy_writable)
    (folder / ".complete").touch()


def _program_source(group: Group) -> Path:
    """The module's folder; a writable copy where something that its zip lost must be put back."""
    listed = _go(["go", "mod", "download", "-json", f"{group.module}@{group.version}"], MODULES.parent, group)
    found = json.loads(listed)
    if found["Sum"] != group.sum:
        raise PlatformError(
            f"{group.module} {group.version}: checksum {found['Sum']}, but versions.toml says {group.sum}"
        )
    if not group.links and not group.empty:
        return Path(found["Dir"])
    copy = tools_folder() / "source" / group.name
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(found["Dir"], copy, copy_function=_copy_writable)
    for folder in [copy, *(path for path in copy.rglob("*") if path.is_dir())]:
        folder.chmod(0o755)
    for link, target in group.links:
        _link(copy / link, Path(target))
    for name in group.empty:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).touch()
    return copy


def _go(line: list[str], folder: Path, group: Group) -> str:
    done = subprocess.run(
        line, cwd=folder, env=planning.environment(group, dict(os.environ)), text=True, capture_output=True, check=False
    )
    if done.returncode:
        raise PlatformError(f"{group.name}: {' '.join(line)} (in {folder}) failed:\n{done.stderr.strip()[-3000:]}")
    return done.stdout


def _check_compiler(at_least: str) -> None:
    go = shutil.which("go", path=f"{os.environ['PATH']}:/usr/local/go/bin")
    found = subprocess.run([go, "env", "GOVERSION"], text=True, capture_output=True, check=True).stdout if go else ""
    if not go or not planning.new_enough(found.strip(), at_least):
        raise UsageError(f"Go {at_least} or later is needed, found {found.strip() or 'none'}: put it on the PATH")


def _key(group: Group, go: str) -> str:
    lock = MODULES / group.name / "go.sum"
    sources = sorted(MODULES.glob(f"{group.name}/*.go"))
    return key(group, b"".join(path.read_bytes() for path in [lock, *sources] if path.exists()), go)


def _publish(program: Path) -> None:
    """A stable name for people, `<tools>/bin/<program>`, beside the one that has the key in it."""
    _link(tools_folder() / "bin" / program.name, program)


def _link(link: Path, target: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(target)


def _copy_writable(source: str, target: str) -> str:
    shutil.copyfile(source, target)
    return target
