"""Refuse, before anything is pushed or queued, what the local engine could not prove on this machine."""

from contextlib import suppress

from gpulab.checking.here import unproven_here
from gpulab.cli.project import Project
from gpulab.contract.finding import LAB, ContractError
from gpulab.contract.read import parse_lab
from gpulab.errors import InputError


def refuse_unprovable(project: Project, commit: str) -> None:
    """A run on another kind of device would end INCONCLUSIVE, after minutes.

    Args:
        commit: whose `lab.toml` counts; when that breaks the contract, the run says so.

    Raises:
        InputError: with what to type.
    """
    text = project.git.run("show", f"{commit}:{LAB}", check=False).stdout.decode(errors="replace")
    found = []
    with suppress(ContractError):
        found = unproven_here(parse_lab(text))
    if found:
        raise InputError(f"{found[0]} Nothing was pushed, nothing was started.")
