"""`gpulab run`, `watch`, `cancel`: start a run again, look at it, stop it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from gpulab.cli.follow import follow
from gpulab.cli.project import Project, with_runs
from gpulab.cli.words import coloured, say
from gpulab.engines.dispatch import submit_again
from gpulab.engines.protocol import Phase
from gpulab.errors import InputError
from gpulab.files import read_json
from gpulab.forges.protocol import Status

RunName = Annotated[str, typer.Argument(metavar="[RUN]", help="The run; default: the last one.")]


def run(
    revision: Annotated[str, typer.Argument(metavar="[REV]", help="A pushed commit; default: main's head.")] = "main",
) -> None:
    """Run a commit again, without a new one; watch it."""
    project = with_runs()
    commit = project.git.commit_id(revision)
    if commit is None:
        raise InputError(f"{revision!r} names no commit. Type a commit id, a branch or HEAD~1.")
    name = submit_again(project.home, project.slug, commit)
    subject = project.git.text("log", "-1", "--format=%h %s", commit)
    say(f"run {name} of {subject} started. Ctrl-C stops watching, not the run.")
    raise typer.Exit(watch_to_the_end(project, name))


def watch(name: RunName = "") -> None:
    """Follow a run; Ctrl-C stops watching, not the run."""
    project = with_runs()
    raise typer.Exit(watch_to_the_end(project, chosen(project, name, prefix="" if name else "push-")))


def cancel(name: RunName = "") -> None:
    """Stop a run and everything it started."""
    project = with_runs()
    run_name = chosen(project, name)
    status = project.engine.results(run_name)
    if status.phase.fulfilled:
        say(f"run {run_name} has ended already: {status.phase}")
        return
    project.engine.cancel(run_name)
    close_status(project, run_name)
    say(f"run {run_name} is stopped")


def started_at(folder: Path) -> float:
    """When a run was submitted: its workflow is written once."""
    file = folder / "workflow.yaml"
    return file.stat().st_mtime if file.is_file() else 0.0


def close_status(project: Project, run_name: str) -> None:
    """The exit handler does not run when a run is stopped: what it left pending at the forge is closed here."""
    forge = project.platform.forge
    for folder in project.home.statuses.glob("*.json"):
        for context, said in forge.statuses(folder.stem).items():
            if said.run == run_name and said.state == "pending":
                forge.set_status(
                    folder.stem, Status(context, "error", "stopped by hand; it counts for nothing", run_name)
                )


def chosen(project: Project, name: str, prefix: str = "") -> str:
    """The named run, or the last one.

    Raises:
        InputError: there is no such run; the known ones are named.
    """
    folders = [one for one in project.home.runs.iterdir() if one.is_dir() and one.name.startswith(prefix)]
    known = [one.name for one in sorted(folders, key=started_at)]
    if name and name not in known:
        raise InputError(f"there is no run {name!r}. The last ones: {', '.join(known[-5:]) or 'none'}")
    if not known:
        raise InputError("there is no run yet. Type `gpulab push`.")
    return name or known[-1]


def watch_to_the_end(project: Project, name: str) -> int:
    """Follow a run, then say what came of it; its exit code."""
    try:
        follow(project.home, name, project.slug)
    except KeyboardInterrupt:
        say(f"\nstopped watching; run {name} goes on. Look again: gpulab watch {name}. Stop it: gpulab cancel {name}")
        return 130
    results = read_json(project.stored(name, "results.json"))
    if results is not None:
        return summarise(project, name, results)
    status = project.engine.results(name)
    if status.phase is not Phase.SUCCEEDED and status.message:
        say(status.message)
    return 0 if status.phase is Phase.SUCCEEDED else 3 if name.startswith("push-") else 1


def summarise(project: Project, name: str, results: dict[str, Any]) -> int:
    """Print verdict, reasons and the report's path."""
    say()
    say(f"{coloured(results['verdict'])}  {results['summary'].partition(': ')[2]}")
    for gate in results["gates"]:
        if gate["verdict"] in ("FAIL", "INCONCLUSIVE"):
            say(f"  {coloured(gate['verdict'])} {gate['name']}")
            if measured(gate):
                say(f"    found:  {measured(gate)}")
            say(f"    why:    {gate['why']}")
            say(f"    change: {gate['change']}")
    say(f"report: {project.stored(name, 'report.html')}")
    return int(results["exit_code"])


def measured(gate: Mapping[str, Any]) -> str:
    """What a gate measured, what is allowed, and where; empty when it measured nothing."""
    if gate["value"] is None:
        return ""
    where = f", in {gate['module']}" if gate["module"] else ""
    allowed = f" (allowed: {gate['bound']:.4g})" if gate["bound"] is not None else ""
    return f"{gate['value']:.4g}{allowed} {gate['unit']}{where}"
