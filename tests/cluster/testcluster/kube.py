"""kubectl as the administrator."""

import json
import subprocess
from typing import Any

from testcluster.build import tools_folder
from testcluster.errors import PlatformError
from testcluster.layout import Layout


def kubectl(layout: Layout, *words: str, text: str | None = None, seconds: float = 60) -> str:
    """What kubectl prints; raises PlatformError with its message when it fails."""
    line = [str(tools_folder() / "bin" / "kubectl"), f"--kubeconfig={layout.kubeconfig}", *words]
    done = subprocess.run(line, input=text, text=True, capture_output=True, check=False, timeout=seconds)
    if done.returncode:
        raise PlatformError(f"kubectl {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def apply(layout: Layout, *objects: dict[str, Any]) -> None:
    """Server-side apply of some objects."""
    listed = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    kubectl(layout, "apply", "--server-side", "--force-conflicts", "-f", "-", text=json.dumps(listed))


def node_ready(layout: Layout, name: str) -> bool:
    """Whether a node says that it can run pods."""
    wanted = 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'
    try:
        return kubectl(layout, "get", "node", name, "-o", wanted) == "True"
    except PlatformError:
        return False
