"""`gpulab rollback`: an environment runs its earlier release again; production by pull request, like any change."""

from typing import Annotated

import typer

from gpulab.cli.project import with_runs
from gpulab.cli.promote import Merge, carry_through
from gpulab.cli.push import watch_sync
from gpulab.cli.words import say
from gpulab.errors import InputError
from gpulab.events import ENVIRONMENTS
from gpulab.rollback import propose_rollback, restore, target


def rollback(
    environment: Annotated[str, typer.Argument(metavar="[ENVIRONMENT]", help="teaching or production.")] = "production",
    to: Annotated[str, typer.Option("--to", help="The commit whose release comes back; default: the last one.")] = "",
    merge: Merge = False,
) -> None:
    """Bring the earlier release back: production by a pull request with the same check, teaching at once."""
    if environment not in ENVIRONMENTS:
        raise InputError(f"{environment!r} is no environment. Type: gpulab rollback {' | '.join(ENVIRONMENTS)}")
    project = with_runs()
    forge = project.forge
    release = target(forge, environment, to)
    if environment == "production":
        verb = f"rollback production --to {release.release.source[:12]}"
        raise typer.Exit(carry_through(project, propose_rollback(forge, release), verb, merge))
    restore(forge, environment, release)
    say(f"{environment} goes back to commit {release.release.source[:12]}; the next PASS on main releases anew")
    raise typer.Exit(watch_sync(project, environment))
