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
from gpulab.engines.protocol import Json

MESSAGE_FILE = "/dev/termination-log"
"""Kubernetes' default `terminationMessagePath`."""

SCRIPT_FILE = "/argo/staging/script"
OUTPUTS_VARIABLE = "hera__outputs_directory"
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


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
    own = [spec.get("workingDir", ""), image.workdir, spec.get("terminationMessagePath", ""), MESSAGE_FILE, SCRIPT_FILE]
    own += [item["value"] for item in spec.get("env", []) if item["name"] == OUTPUTS_VARIABLE]
    return PathMap(root, mounts, [*own, *declared])


def prepare(spec: Json, paths: PathMap, image: LocalImage, configmaps: Mapping[str, Mapping[str, str]]) -> Container:
    """Lay out the container's folder and put its command together.

    Raises:
        ContainerError: the command is not in the PATH, a ConfigMap is missing, or the kubelet would expand `$(…)`.
    """
    message_file = paths.real(spec.get("terminationMessagePath") or MESSAGE_FILE)
    message_file.parent.mkdir(parents=True, exist_ok=True)
    paths.real("/tmp").mkdir(parents=True, exist_ok=True)  # noqa: S108  the container's own
    cwd = _working_directory(spec, paths, image)
    from_maps = _from_configmaps(spec, configmaps)
    own = {item["name"]: str(item.get("value", "")) for item in spec.get("env", [])}
    words = [str(word) for word in (*spec.get("command", []), *spec.get("args", []))]
    for text in (*words, *own.values()):
        if kubelet_changes(text, {*own, *from_maps}):
            raise ContainerError(f"the kubelet would expand $(…) or $$ in {text[:80]!r}, this engine does not")
    argv = [paths.text(word) for word in words]
    if "source" in spec:
        script = paths.real(SCRIPT_FILE)
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(spec["source"], encoding="utf-8")
        argv.append(str(script))
    env = _environment(paths, image.env) | from_maps | {name: paths.text(value) for name, value in own.items()}
    env["PATH"] = f"{Path(sys.executable).parent}:{env.get('PATH') or _SYSTEM_PATH}"
    program = argv[0] if "/" in argv[0] else shutil.which(argv[0], path=env["PATH"])
    if not program:
        raise ContainerError(f'failed to find name in PATH: exec: "{argv[0]}": executable file not found in $PATH')
    return Container([program, *argv[1:]], env, cwd, paths, message_file)


def kubelet_changes(text: str, names: Iterable[str]) -> bool:
    """Would Kubernetes change this text of a command, an argument or a variable (`$$`, `$(NAME)` of a known name)?"""
    known = set(names)
    return "$$" in text or any(name in known for name in re.findall(r"\$\((.*?)\)", text))


def _working_directory(spec: Json, paths: PathMap, image: LocalImage) -> Path:
    """A private copy of the image's files, and where the command starts."""
    if image.root and image.workdir:
        source, target = image.root / image.workdir.lstrip("/"), paths.real(image.workdir)
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
    cwd = paths.real(spec.get("workingDir") or image.workdir or "/work")
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
        "HOME": str(paths.root),
        "TMPDIR": str(paths.real("/tmp")),  # noqa: S108
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    if threads := os.environ.get("OMP_NUM_THREADS"):
        env["OMP_NUM_THREADS"] = threads
    return env | {name: paths.text(value) for name, value in image.items()}
