"""Refuse, before anything is pushed or queued, what the local engine could not prove on this machine."""

from contextlib import suppress

from gpulab.checking.here import unproven_here
from gpulab.contract.finding import LAB, ContractError
from gpulab.contract.read import parse_lab
from gpulab.errors import InputError
from gpulab.forges.local.git import Git


def refuse_unprovable(git: Git, commit: str) -> None:
    """A run on another kind of device would end INCONCLUSIVE, after minutes.

    Args:
        git: the working tree.
        commit: whose `lab.toml` counts; when that breaks the contract, the run says so.

    Raises:
        InputError: with what to type.
    """
    text = git.run("show", f"{commit}:{LAB}", check=False).stdout.decode(errors="replace")
    found = []
    with suppress(ContractError):
        found = unproven_here(parse_lab(text))
    if found:
        raise InputError(f"{found[0]} Nothing was pushed, nothing was started.")
