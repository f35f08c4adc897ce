"""A container's command, environment and folders, from what the template says."""

import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gpulab.engines.local.images import LocalImage
from gpulab.engines.local.paths import PathMap
from gpulab.engines.local.tags import fill
from gpulab.engines.protocol import Json
from gpulab.system import SYSTEM

MESSAGE_FILE = "/dev/termination-log"
"""Kubernetes' default `terminationMessagePath`."""

SCRIPT_FILE = "/argo/staging/script"
SCRATCH = "/tmp"  # noqa: S108  every container has its own
OUTPUTS_VARIABLE = "hera__outputs_directory"
_PATH_TAG = re.compile(r"(?:inputs|outputs)\.(?:artifacts|parameters)\.[^.]+\.path")
PYTHON = ("python", "python3")
"""Every image has it; here it is this interpreter, whatever its file is called."""


class ContainerError(Exception):
    """A container cannot be started; the text is what its node says."""


@dataclass(frozen=True)
class Container:
    """A container that is ready to start."""

    argv: list[str]
    env: dict[str, str]
    cwd: Path
    paths: PathMap
    message_file: Path


def path_map(spec: Json, root: Path, mounts: Mapping[str, Path], image: LocalImage, declared: Iterable[str]) -> PathMap:
    """The container's paths: its mounts, and all that template and image declare."""
    own = [spec.get("workingDir", ""), image.workdir, spec.get("terminationMessagePath", "")]
    own += [MESSAGE_FILE, SCRIPT_FILE, SCRATCH]
    own += [item["value"] for item in spec.get("env", []) if item["name"] == OUTPUTS_VARIABLE]
    return PathMap(root, mounts, [*own, *declared])


def prepare(
    spec: Json,
    scope: Mapping[str, str | None],
    paths: PathMap,
    image: LocalImage,
    configmaps: Mapping[str, Mapping[str, str]],
) -> Container:
    """Lay out the container's folder and put its command together.

    Args:
        spec: the container with its tags, which `scope` fills in after the declared paths were made real.

    Raises:
        ContainerError: the command is not in the PATH, a ConfigMap is missing, or the kubelet would expand `$(…)`.
    """
    scope = {tag: str(paths.real(text)) if text and _PATH_TAG.fullmatch(tag) else text for tag, text in scope.items()}
    message_file = paths.real(fill(spec.get("terminationMessagePath", MESSAGE_FILE), scope))
    for folder in (message_file.parent, paths.real(SCRATCH)):
        folder.mkdir(parents=True, exist_ok=True)
    cwd = _working_directory(fill(spec.get("workingDir", ""), scope), paths, image)
    from_maps = _from_configmaps(spec, configmaps)
    declared = {item["name"]: item.get("value", "") for item in spec.get("env", [])}
    own = {name: fill(_value(name, value, paths), scope) for name, value in declared.items()}
    argv = [fill(paths.text(word), scope) for word in (*spec.get("command", []), *spec.get("args", []))]
    for text in (*argv, *own.values()):
        if kubelet_changes(text, {*own, *from_maps}):
            raise ContainerError(f"the kubelet would expand $(…) or $$ in {text[:80]!r}, this engine does not")
    env = _environment(paths, image.env) | from_maps | own
    env["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), env.get("PATH") or SYSTEM.path))
    argv = [_program(argv[0], env["PATH"]), *argv[1:], *_script(spec, scope, paths)]
    return Container(argv, env, cwd, paths, message_file)


def _program(name: str, path: str) -> str:
    if name in PYTHON:
        return sys.executable
    found = name if Path(name).name != name else shutil.which(name, path=path)
    if not found:
        raise ContainerError(f'failed to find name in PATH: exec: "{name}": executable file not found in $PATH')
    return found


def _script(spec: Json, scope: Mapping[str, str | None], paths: PathMap) -> list[str]:
    """The file of a script template's source, which Argo appends to the arguments."""
    if "source" not in spec:
        return []
    script = paths.real(SCRIPT_FILE)
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(fill(spec["source"], scope), encoding="utf-8", newline="\n")
    return [str(script)]


def kubelet_changes(text: str, names: Iterable[str]) -> bool:
    """Would Kubernetes change this text of a command, an argument or a variable (`$$`, `$(NAME)` of a known name)?"""
    known = set(names)
    return "$$" in text or any(name in known for name in re.findall(r"\$\((.*?)\)", text))


def _working_directory(declared: str, paths: PathMap, image: LocalImage) -> Path:
    """A private copy of the image's files, and where the command starts."""
    if image.root and image.workdir:
        source, target = image.root / image.workdir.lstrip("/"), paths.real(image.workdir)
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
    cwd = paths.real(declared or image.workdir or "/work")
    cwd.mkdir(parents=True, exist_ok=True)
    return cwd


def _from_configmaps(spec: Json, configmaps: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for source in spec.get("envFrom", []):
        reference = source["configMapRef"]
        if reference["name"] not in configmaps and not reference.get("optional"):
            raise ContainerError(
                f"there is no ConfigMap {reference['name']!r}; there are {', '.join(configmaps) or 'none'}"
            )
        found |= configmaps.get(reference["name"], {})
    return found


def _environment(paths: PathMap, image: Mapping[str, str]) -> dict[str, str]:
    """A small environment, the same wherever the engine was started from (a git hook has GIT_DIR and more)."""
    env = {
        **SYSTEM.environment(str(paths.root), str(paths.real(SCRATCH))),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    if threads := os.environ.get("OMP_NUM_THREADS"):
        env["OMP_NUM_THREADS"] = threads
    return env | {name: _value(name, value, paths) for name, value in image.items()}


def _value(name: str, value: str, paths: PathMap) -> str:
    """A variable with real paths; what is a list of folders in the image is one here, with this system's separator."""
    if name in ("PATH", "PYTHONPATH"):
        return os.pathsep.join(paths.text(entry) for entry in value.split(":"))
    return paths.text(value)
