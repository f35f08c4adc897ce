"""`gpulab promote`: open the pull request that makes production run teaching's digest; `--merge` merges it."""

from typing import Annotated

import typer

from gpulab.cli.follow import follow_plain
from gpulab.cli.project import Project, with_runs
from gpulab.cli.push import watch_sync
from gpulab.cli.records import results_of
from gpulab.cli.words import say
from gpulab.engines.again import check_of
from gpulab.errors import InputError, PlatformError
from gpulab.events import PROMOTION_CHECK
from gpulab.forges.protocol import Forge, PullRequest, Status
from gpulab.promotion import asking_for_another, propose, to_promote
from gpulab.steps.release_file import Release

Merge = Annotated[bool, typer.Option("--merge", help="Merge it when its check has passed.")]


def promote(
    commit: Annotated[str, typer.Argument(metavar="[COMMIT]", help="What was reviewed; default: teaching's.")] = "",
    merge: Merge = False,
) -> None:
    """Open (or find) the promotion's pull request, run its check, show it; with --merge, merge and sync."""
    project = with_runs()
    release = to_promote(project.forge)
    refuse_unseen(project.forge, release, commit, merge)
    verb = f"promote {release.source[:12]}"
    raise typer.Exit(carry_through(project, opened(project, release), verb, merge))


def refuse_unseen(forge: Forge, release: Release, commit: str, merge: bool) -> None:
    """Teaching may have gone on since somebody looked: nothing is merged that was not asked for.

    Raises:
        InputError: it runs another commit than the one named, or another promotion is open and none was named.
    """
    source = release.source[:12]
    if commit and not release.source.startswith(commit):
        raise InputError(f"teaching runs {source} now, not {commit[:12]}. To see its promotion: gpulab promote")
    others = asking_for_another(forge, release) if merge and not commit else []
    if others:
        raise InputError(
            f"pull request {others[0].number} ({others[0].title}) is open, and teaching runs {source} now. "
            f"To merge that: gpulab promote {source} --merge"
        )


def opened(project: Project, release: Release) -> PullRequest:
    """The pull request for a release.

    Raises:
        PlatformError: the record of the run that proved it is gone.
    """
    results = results_of(project, release.run)
    if results is None:
        again = "Type `gpulab run main`, which proves and releases what main holds."
        raise PlatformError(f"the record of run {release.run} is gone. {again}")
    return propose(project.forge, release, results)


def carry_through(project: Project, pull: PullRequest, verb: str, merge: bool) -> int:
    """Show a pull request to production, run its check, merge it when that is asked for; the exit code."""
    say(f"pull request {pull.number}: {pull.title}\n")
    say(pull.body.partition("**Rendered change**")[0])
    say(f"the rendered change: git fetch {project.remote} && git show {project.remote}/{pull.branch}\n")
    said = checked(project, pull)
    if said is None or said.state != "success":
        return 1 if said is not None and said.state == "failure" else 3
    if not merge:
        say(f"pull request {pull.number} is open and may be merged. A second person types: gpulab {verb} --merge")
        return 0
    project.forge.merge(pull.number)
    say(f"pull request {pull.number} is merged")
    return watch_sync(project, "production")


def checked(project: Project, pull: PullRequest) -> Status | None:
    """Follow the required check and say what it found; one that ended in trouble of the platform is run again."""
    forge = project.forge
    due = check_of(forge, project.slug, pull.head)
    known = project.attempts(due)
    before = forge.statuses(pull.head).get(PROMOTION_CHECK)
    undecided = before is None or before.state in ("error", "pending")
    spoilt = bool(known) and undecided and project.phase(known[-1]).fulfilled
    run = project.start_again(due) if spoilt else project.started(due)
    follow_plain(project.follow(run))
    said = forge.statuses(pull.head).get(PROMOTION_CHECK)
    say(f"{PROMOTION_CHECK}: {said.state}: {said.description}" if said else f"{PROMOTION_CHECK}: it said nothing")
    if said is None or said.state == "error":
        say(f"To try it again: gpulab run {pull.branch}")
    return said
