"""`gpulab promote`: open the pull request that makes production run teaching's digest; `--merge` merges it."""

from typing import Annotated

import typer

from gpulab.cli.follow import follow_plain
from gpulab.cli.project import Project, with_runs
from gpulab.cli.push import watch_sync
from gpulab.cli.records import results_of
from gpulab.cli.words import say
from gpulab.engines.again import check_again
from gpulab.engines.attempts import last_run
from gpulab.errors import PlatformError
from gpulab.events import PROMOTION_CHECK, promotion_run
from gpulab.forges.protocol import PullRequest, Status
from gpulab.promotion import propose, to_promote

Merge = Annotated[bool, typer.Option("--merge", help="Merge it when its check has passed.")]


def promote(merge: Merge = False) -> None:
    """Open (or find) the promotion's pull request, run its check, show it; with --merge, merge and sync."""
    project = with_runs()
    raise typer.Exit(carry_through(project, opened(project), "promote", merge))


def opened(project: Project) -> PullRequest:
    """The pull request for what teaching runs now.

    Raises:
        PlatformError: the record of the run that proved it is gone.
    """
    forge = project.platform.forge
    release = to_promote(forge)
    results = results_of(project, release.run)
    if results is None:
        again = f"Type `gpulab run {release.source[:12]}` to prove it again."
        raise PlatformError(f"the record of run {release.run} is gone. {again}")
    return propose(forge, release, results)


def carry_through(project: Project, pull: PullRequest, verb: str, merge: bool) -> int:
    """Show a pull request to production, run its check, merge it when that is asked for; the exit code."""
    say(f"pull request {pull.number}: {pull.title}\n")
    say(pull.body.partition("**Rendered change**")[0])
    say(f"the rendered change: git fetch lab && git show lab/{pull.branch}\n")
    said = checked(project, pull)
    if said is None or said.state != "success":
        return 1 if said is not None and said.state == "failure" else 3
    if not merge:
        say(f"pull request {pull.number} is open and may be merged. A second person types: gpulab {verb} --merge")
        return 0
    project.platform.forge.merge(pull.number)
    say(f"pull request {pull.number} is merged")
    return watch_sync(project, "production")


def checked(project: Project, pull: PullRequest) -> Status | None:
    """Follow the required check and say what it found; one that ended in trouble of the platform is run again."""
    forge = project.platform.forge
    run = last_run(project.home, promotion_run(pull.head))
    before = forge.statuses(pull.head).get(PROMOTION_CHECK)
    ended = run is not None and project.engine.results(run).phase.fulfilled
    if run is None or (ended and (before is None or before.state in ("error", "pending"))):
        run = check_again(project.home, project.slug, pull.head)
    follow_plain(project.home, run, project.slug)
    said = forge.statuses(pull.head).get(PROMOTION_CHECK)
    say(f"{PROMOTION_CHECK}: {said.state}: {said.description}" if said else f"{PROMOTION_CHECK}: it said nothing")
    if said is None or said.state == "error":
        say(f"To try it again: gpulab run {pull.branch}")
    return said
