"""`gpulab status`: the last runs, and what each environment runs now."""

from gpulab.cli.project import with_runs
from gpulab.cli.runs import started_at
from gpulab.cli.words import coloured, say
from gpulab.events import ENVIRONMENTS, sync_context
from gpulab.files import read_json


def status() -> None:
    """Show the last push runs and, per environment, commit, digest and smoke request."""
    project = with_runs()
    runs = sorted((one for one in project.home.runs.glob("push-*") if one.is_dir()), key=started_at)
    for folder in runs[-5:]:
        results = read_json(project.stored(folder.name, "results.json"))
        word = results["verdict"] if results else str(project.engine.results(folder.name).phase)
        say(f"{folder.name}  {coloured(word)}")
    for environment in ENVIRONMENTS:
        release = project.platform.cluster(environment).current()
        if release is None:
            say(f"{environment:<11} nothing released")
            continue
        said = project.platform.forge.statuses(release["revision"]).get(sync_context(environment))
        smoke = f"{said.state}: {said.description}" if said else "not asked yet"
        say(f"{environment:<11} commit {release['source'][:12]}  {release['digest']}  {smoke}")
    for pull in project.platform.forge.pull_requests():
        if pull.state == "open":
            say(f"pull request {pull.number}: {pull.title}. Merge it with: gpulab promote --merge")
