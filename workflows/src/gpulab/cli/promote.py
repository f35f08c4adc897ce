"""`gpulab promote`: open the pull request that makes production run teaching's digest; `--merge` merges it."""

from typing import Annotated

import typer

from gpulab.cli.follow import follow_plain
from gpulab.cli.project import Project, with_runs
from gpulab.cli.push import watch_sync
from gpulab.cli.words import say
from gpulab.engines.dispatch import promotion_run
from gpulab.errors import PlatformError
from gpulab.events import PRODUCTION, PROMOTION_CHECK, TEACHING
from gpulab.files import read_json
from gpulab.forges.protocol import PullRequest
from gpulab.promotion import propose, running


def promote(
    merge: Annotated[bool, typer.Option("--merge", help="Merge it when its check has passed.")] = False,
) -> None:
    """Open (or find) the promotion's pull request, run its check, show it; with --merge, merge and sync."""
    project = with_runs()
    pull = opened(project)
    say(f"pull request {pull.number}: {pull.title}\n")
    say(pull.body.partition("```diff")[0])
    say(f"the rendered change: git fetch lab && git show lab/{pull.branch}\n")
    if not checked(project, pull):
        raise typer.Exit(1)
    if not merge:
        say(f"pull request {pull.number} is open and may be merged. A second person types: gpulab promote --merge")
        return
    project.platform.forge.merge(pull.number)
    say(f"pull request {pull.number} is merged")
    raise typer.Exit(watch_sync(project, "production"))


def opened(project: Project) -> PullRequest:
    """The pull request for what teaching runs now.

    Raises:
        PlatformError: the record of the run that proved it is gone.
    """
    forge = project.platform.forge
    teaching = running(forge, TEACHING)
    run = teaching.run if teaching else ""
    results = read_json(project.stored(run, "results.json"), default={"gates": []})
    if teaching and not results["gates"]:
        raise PlatformError(
            f"the record of run {run} is gone. Type `gpulab run {teaching.source[:12]}` to prove it again."
        )
    open_one = [one for one in forge.pull_requests() if one.state == "open"]
    base = forge.head(PRODUCTION)
    same = [one for one in open_one if teaching and one.branch == f"promote/{teaching.source[:12]}"]
    if same and (base is None or forge.is_ancestor(base, same[-1].head)):
        return same[-1]
    return propose(forge, results)


def checked(project: Project, pull: PullRequest) -> bool:
    """Follow the required check and say what it found."""
    run = promotion_run(project.home, pull.head)
    if run:
        follow_plain(project.home, run, project.slug)
    said = project.platform.forge.statuses(pull.head).get(PROMOTION_CHECK)
    say(f"{PROMOTION_CHECK}: {said.state}: {said.description}" if said else f"{PROMOTION_CHECK}: not there yet")
    return said is not None and said.state == "success"
