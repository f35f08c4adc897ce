"""`gpulab check`: contract, code, Dockerfile and overlays, in about a second, without importing torch."""

from pathlib import Path
from typing import Annotated

import typer

from gpulab.checking import check_project
from gpulab.cli.words import MARK, say
from gpulab.contract.finding import errors_of
from gpulab.home import find_project


def check(folder: Annotated[Path, typer.Argument(help="The project; default: here.")] = Path()) -> None:
    """Say what would be refused before it is pushed."""
    findings = check_project(find_project(folder.resolve()))
    for finding in findings:
        say(f"{MARK[finding.level]} {finding}")
    errors = errors_of(findings)
    if errors:
        say(f"{len(errors)} to mend. Nothing was pushed, nothing was changed.")
        raise typer.Exit(2)
    say("ok: this project can be pushed. Next: gpulab push")
