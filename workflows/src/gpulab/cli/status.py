"""`gpulab status`: the last runs, what each environment runs now, what waits for somebody."""

from gpulab.cli.project import Project, with_runs
from gpulab.cli.records import results_of
from gpulab.cli.words import coloured, say
from gpulab.errors import GpulabError
from gpulab.events import ENVIRONMENTS, PROMOTE, TEACHING, sync_context
from gpulab.forges.protocol import Forge, PullRequest
from gpulab.promotion import branch_of, running


def status() -> None:
    """Show the last push runs and, per environment, commit, digest and smoke request."""
    project = with_runs()
    for run in project.runs("push-")[-5:]:
        say(f"{run}  {verdict(project, run)}")
    for environment in ENVIRONMENTS:
        say(f"{environment:<11} {running_in(project, environment)}")
    for pull in project.forge.pull_requests():
        if pull.state == "open":
            say(f"pull request {pull.number}: {pull.title}. {advice(project.forge, pull)}")
    for line in project.overlooked():
        say(line)


def verdict(project: Project, run: str) -> str:
    """The verdict of a run, its phase while it has none, or what is wrong with its files."""
    try:
        results = results_of(project, run) if project.records else None
        return coloured(results["verdict"] if results else str(project.phase(run)))
    except GpulabError as error:
        return f"unreadable: {error}"


def running_in(project: Project, environment: str) -> str:
    """What an environment runs, and what its last sync said."""
    release, forge = project.running(environment), project.forge
    head = forge.head(f"deploy/{environment}")
    if release is None:
        said = forge.statuses(head).get(sync_context(environment)) if head else None
        return f"nothing released; the last sync said: {said.description}" if said else "nothing released"
    said = forge.statuses(release["revision"]).get(sync_context(environment))
    smoke = f"{said.state}: {said.description}" if said else "not asked yet"
    return f"commit {release['source'][:12]}  {release['digest']}  {smoke}"


def advice(forge: Forge, pull: PullRequest) -> str:
    """What to type to merge a pull request to production, while that is still what it asks for."""
    rollback = f"{PROMOTE}rollback-"
    if pull.branch.startswith(rollback):
        return f"Merge it with: gpulab rollback production --to {pull.branch.removeprefix(rollback)} --merge"
    teaching = running(forge, TEACHING)
    if teaching is None or branch_of(teaching) != pull.branch:
        return "It is overtaken: teaching runs something else now. To open the promotion of that: gpulab promote"
    return f"Merge it with: gpulab promote {teaching.source[:12]} --merge"
