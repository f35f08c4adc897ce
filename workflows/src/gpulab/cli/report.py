"""`gpulab report`: where the report of a run is."""

import webbrowser
from typing import Annotated

import typer

from gpulab.cli.project import with_runs
from gpulab.cli.runs import chosen
from gpulab.cli.words import say
from gpulab.errors import InputError


def report(
    name: Annotated[str, typer.Argument(metavar="[RUN]", help="The run; default: the last one.")] = "",
    open_it: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """Print the path of the report, or open it."""
    project = with_runs()
    run = chosen(project, name, prefix="push-")
    path = project.stored(run, "report.html")
    if not path.is_file():
        raise InputError(f"run {run} has no report (yet). Type `gpulab watch {run}`.")
    say(str(path))
    if project.page(run):
        say(project.page(run))
    if open_it:
        webbrowser.open(path.as_uri())
