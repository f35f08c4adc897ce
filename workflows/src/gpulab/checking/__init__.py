"""What `gpulab check` runs: everything about a project that can be refused without running its code.

Contract, sources, Dockerfile, both overlays as rendered, memory and image lane, and what Git carries. About a second,
no torch.
"""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gpulab.checking.hardware import hardware_findings
from gpulab.checking.manifests import overlay_findings
from gpulab.checking.tracked import committed_findings, tracked_findings
from gpulab.contract.dockerfile import lint
from gpulab.contract.environment import environment_findings
from gpulab.contract.finding import ContractError, Finding, in_order
from gpulab.contract.lab import Lab
from gpulab.contract.read import read_lab
from gpulab.contract.repository import facts_of
from gpulab.contract.sources import check_sources
from gpulab.events import ENVIRONMENTS

__all__ = ["check_project"]


def check_project(root: Path, committed: Iterable[str] | None = None) -> list[Finding]:
    """All findings about a project folder, errors first; nothing in it is changed or run.

    Args:
        root: the folder.
        committed: the files of a commit that is laid out there; None for a working tree, which Git is asked about.

    Raises:
        PlatformError: kustomize is not installed or does not end.
    """
    lab, found = _contract(root)
    facts = facts_of(root)
    found += lint(facts.dockerfile, lab.hardware.accelerators if lab else ())
    found += environment_findings(facts)
    if lab is not None:
        found += check_sources(root, lab)
        found += hardware_findings(lab)
        found += _overlays(root, lab)
    found += tracked_findings(root) if committed is None else committed_findings(root, committed)
    return in_order(found)


def _overlays(root: Path, lab: Lab) -> list[Finding]:
    """Both at the same time: nearly all of it is waiting for kustomize."""
    with ThreadPoolExecutor(len(ENVIRONMENTS)) as pool:
        found = pool.map(lambda environment: overlay_findings(root, environment, lab), ENVIRONMENTS)
        return [finding for findings in found for finding in findings]


def _contract(root: Path) -> tuple[Lab | None, list[Finding]]:
    try:
        return read_lab(root), []
    except ContractError as error:
        return None, list(error.problems)
