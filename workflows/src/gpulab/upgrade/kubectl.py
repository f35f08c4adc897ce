"""kubectl of this Python environment, for what it does better than an API client: diff and apply of a kustomization."""

import subprocess
from collections.abc import Callable
from pathlib import Path

from gpulab.errors import PlatformError
from gpulab.rendering.kustomize import kubectl

SECONDS = 600
APPLY = ("--server-side", "--force-conflicts", "--kustomize")
"""What the overlay says holds, also where somebody edited the cluster: the diff has shown it."""


def run(*arguments: str, say: Callable[[str], object]) -> int:
    """Run kubectl with the caller's environment (KUBECONFIG), its output line by line; the exit code.

    Raises:
        PlatformError: it does not end.
    """
    command = [str(kubectl()), f"--request-timeout={SECONDS}s", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8"
    ) as child:
        try:
            for line in child.stdout or ():
                say(line.rstrip("\n"))
            return child.wait(SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            raise PlatformError(f"kubectl {arguments[0]} did not end within {SECONDS} s") from None


def diff(overlay: Path, say: Callable[[str], object]) -> bool:
    """Show what applying would change (Secrets masked); whether anything would.

    Raises:
        PlatformError: kubectl could not tell.
    """
    code = run("diff", *APPLY, str(overlay), say=say)
    if code > 1:
        raise PlatformError(
            "kubectl diff failed (see above). Are the definitions there? kubectl apply --server-side -k gitops/crds"
        )
    return code == 1


def apply(overlay: Path, say: Callable[[str], object]) -> None:
    """Apply a kustomization; nothing is removed.

    Raises:
        PlatformError: kubectl refused something.
    """
    if run("apply", *APPLY, str(overlay), say=say):
        raise PlatformError("kubectl apply failed (see above); what was applied before that stays. Type it again.")
