"""`gpulab check`: contract, code, Dockerfile and overlays, in about a second, without importing torch."""

from pathlib import Path
from typing import Annotated

import typer

from gpulab.checking import check_project
from gpulab.checking.here import unproven_here
from gpulab.cli.words import MARK, say
from gpulab.contract.finding import errors_of
from gpulab.contract.read import read_lab
from gpulab.home import find_project


def check(folder: Annotated[Path, typer.Argument(help="The project; default: here.")] = Path()) -> None:
    """Say what would be refused before it is pushed."""
    root = find_project(folder.resolve())
    findings = check_project(root)
    errors = errors_of(findings)
    unproven = [] if errors else unproven_here(read_lab(root))
    for finding in (*findings, *unproven):
        say(f"{MARK[finding.level]} {finding}")
    if errors:
        say(f"{len(errors)} to mend. Nothing was pushed, nothing was changed.")
        raise typer.Exit(2)
    ready = "ok: this project can be pushed. Next: gpulab push"
    say("ok, but nothing to push from this machine: see the warning." if unproven else ready)
