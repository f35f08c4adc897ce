"""Whether a cluster is as an overlay says, for `gpulab doctor --overlay`."""

import re
from pathlib import Path

from gpulab.doctor.check import Check
from gpulab.doctor.installation import APPLY
from gpulab.errors import PlatformError
from gpulab.upgrade import kubectl

CHANGED = re.compile(r"^diff .*/(?:LIVE|MERGED)-\d+/(\S+)$")
"""kubectl names the files that it compares `<group>.<version>.<Kind>.<namespace>.<name>`."""


def drift(overlay: Path) -> Check:
    """Every object of the overlay, compared by the API server itself."""
    lines: list[str] = []
    name = f"overlay {overlay.name}"
    try:
        kubectl.diff(overlay, lines.append)
    except PlatformError:
        return Check("FAIL", name, f"cannot be compared: {lines[-1] if lines else 'kubectl said nothing'}", APPLY)
    return judged(name, lines)


def judged(name: str, lines: list[str]) -> Check:
    """What the lines of `kubectl diff` mean."""
    changed = sorted({found[1] for line in lines if (found := CHANGED.match(line))})
    if changed:
        return Check("FAIL", name, f"the cluster differs in {', '.join(changed)}", APPLY)
    return Check("PASS", name, "the cluster is as it says")
