"""What `gpulab check` runs: everything about a project that can be refused without running its code.

Contract, sources, Dockerfile, both overlays as rendered, memory and image lane, and what Git carries. About a second,
no torch.
"""

from pathlib import Path

from gpulab.checking.hardware import hardware_findings
from gpulab.checking.manifests import overlay_findings
from gpulab.checking.tracked import tracked_findings
from gpulab.contract.dockerfile import lint
from gpulab.contract.finding import ContractError, Finding, in_order
from gpulab.contract.lab import Lab
from gpulab.contract.read import read_lab
from gpulab.contract.repository import read_dockerfile
from gpulab.contract.sources import check_sources
from gpulab.events import ENVIRONMENTS

__all__ = ["check_project"]


def check_project(root: Path) -> list[Finding]:
    """All findings about a project folder, errors first; nothing in it is changed or run.

    Raises:
        PlatformError: kustomize is not installed or does not end.
    """
    lab, found = _contract(root)
    found += lint(read_dockerfile(root), lab.hardware.accelerators if lab else ())
    if lab is not None:
        found += check_sources(root, lab)
        found += hardware_findings(lab)
        for environment in ENVIRONMENTS:
            found += overlay_findings(root, environment, lab)
    return in_order([*found, *tracked_findings(root)])


def _contract(root: Path) -> tuple[Lab | None, list[Finding]]:
    try:
        return read_lab(root), []
    except ContractError as error:
        return None, list(error.problems)
