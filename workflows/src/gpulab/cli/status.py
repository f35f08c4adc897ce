"""`gpulab status`: the last runs, what each environment runs now, what waits for somebody."""

from gpulab.cli.project import Project, with_runs
from gpulab.cli.records import release_of, results_of
from gpulab.cli.runs import started_at
from gpulab.cli.words import coloured, say
from gpulab.engines.reconciling import facts
from gpulab.errors import GpulabError
from gpulab.events import ENVIRONMENTS, PROMOTE, sync_context
from gpulab.forges.local.outbox import aside
from gpulab.forges.protocol import PullRequest
from gpulab.reconcile import missed


def status() -> None:
    """Show the last push runs and, per environment, commit, digest and smoke request."""
    project = with_runs()
    runs = sorted((one for one in project.home.runs.glob("push-*") if one.is_dir()), key=started_at)
    for folder in runs[-5:]:
        say(f"{folder.name}  {verdict(project, folder.name)}")
    for environment in ENVIRONMENTS:
        say(f"{environment:<11} {running_in(project, environment)}")
    for pull in project.platform.forge.pull_requests():
        if pull.state == "open":
            say(f"pull request {pull.number}: {pull.title}. Merge it with: {merge_with(pull)}")
    for name, why in aside(project.home).items():
        say(f"event {name} could not be delivered: {why}. To try again: gpulab reconcile")
    overlooked = len(missed(facts(project.home, project.slug)))
    if overlooked:
        say(f"{overlooked} missed. To see and mend: gpulab reconcile --dry-run, then gpulab reconcile")


def verdict(project: Project, run: str) -> str:
    """The verdict of a run, its phase while it has none, or what is wrong with its files."""
    try:
        results = results_of(project, run)
        return coloured(results["verdict"] if results else str(project.engine.results(run).phase))
    except GpulabError as error:
        return f"unreadable: {error}"


def running_in(project: Project, environment: str) -> str:
    """What an environment runs, and what its last sync said."""
    release = release_of(project, environment)
    forge = project.platform.forge
    head = forge.head(f"deploy/{environment}")
    if release is None:
        said = forge.statuses(head).get(sync_context(environment)) if head else None
        return f"nothing released; the last sync said: {said.description}" if said else "nothing released"
    said = forge.statuses(release["revision"]).get(sync_context(environment))
    smoke = f"{said.state}: {said.description}" if said else "not asked yet"
    return f"commit {release['source'][:12]}  {release['digest']}  {smoke}"


def merge_with(pull: PullRequest) -> str:
    """What to type to merge a pull request to production."""
    rollback = f"{PROMOTE}rollback-"
    if pull.branch.startswith(rollback):
        return f"gpulab rollback production --to {pull.branch.removeprefix(rollback)} --merge"
    return "gpulab promote --merge"
