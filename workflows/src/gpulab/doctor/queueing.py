"""Kueue, where it is installed: fair shares have to be configured, or the mode that the queue names does nothing."""

from collections.abc import Iterator

from gpulab.doctor.check import Check
from gpulab.doctor.snapshot import Snapshot

QUEUE = "gpulab"


def checks(seen: Snapshot) -> Iterator[Check]:
    """The queue and Kueue's own configuration; nothing when there is no Kueue."""
    if seen.find("Deployment", "kueue-controller-manager", "kueue-system") is None:
        return
    fix = "Use overlays/teaching, or components/kueue in your overlay."
    queue = seen.find("ClusterQueue", QUEUE)
    if queue is None:
        yield Check("FAIL", f"ClusterQueue {QUEUE}", "missing", fix)
        return
    yield Check("PASS", f"ClusterQueue {QUEUE}", "there")
    fair = (queue["spec"].get("admissionScope") or {}).get("admissionMode") == "UsageBasedAdmissionFairSharing"
    if not fair:
        return
    configuration = seen.data("kueue-manager-config", "kueue-system").get("controller_manager_config.yaml", "")
    lines = [line for line in configuration.splitlines() if not line.lstrip().startswith("#")]
    if not any(line.startswith("admissionFairSharing:") for line in lines):
        found = "first come, first served: Kueue's own configuration has no admissionFairSharing"
        yield Check("FAIL", "fair shares of GPUs", found, f"{fix} Then restart Kueue.")
    else:
        yield Check("PASS", "fair shares of GPUs", "configured")
