"""`gpulab render`: write the Argo YAML of all pipelines, or say what drifted. For platform maintainers."""

from pathlib import Path
from typing import Annotated

import typer
import yaml

from gpulab.cli.words import say
from gpulab.pipelines.settings import Settings
from gpulab.rendering.lint import lint
from gpulab.rendering.workflows import drift, render_all, write_all


def render(
    folder: Annotated[Path, typer.Argument(help="Where the YAML goes.")] = Path("workflows/src/gpulab/rendered"),
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 when a file is not up to date.")
    ] = False,
) -> None:
    """Render, lint, and write what changed."""
    settings = Settings()
    problems = [
        f"{name}: {problem}"
        for name, text in render_all(settings).items()
        for document in yaml.safe_load_all(text)
        for problem in lint(document)
    ]
    for problem in problems:
        say(problem)
    changed = drift(folder, settings) if check else write_all(folder, settings)
    for name in changed:
        say(f"{name} {'is not up to date: type `make render` and commit it' if check else 'written'}")
    if problems or (check and changed):
        raise typer.Exit(1)
    say(f"{folder}: rendered and clean")
