"""`gpulab run`, `watch`, `cancel`: start a run again, look at it, stop it."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from gpulab.cli.follow import follow
from gpulab.cli.project import Project, with_runs
from gpulab.cli.records import results_of
from gpulab.cli.remote_runs import exit_code
from gpulab.cli.words import coloured, say
from gpulab.engines.again import branch_work, push_of
from gpulab.engines.protocol import Phase
from gpulab.errors import InputError
from gpulab.events import Submission

RunName = Annotated[str, typer.Argument(metavar="[RUN]", help="The run; default: the last one.")]


def run(
    revision: Annotated[str, typer.Argument(metavar="[REV]", help="A pushed commit, or deploy/ENVIRONMENT.")] = "main",
) -> None:
    """Run a commit again, without a new one, or sync an environment again; watch it."""
    project = with_runs()
    due = branch_work(project.forge, project.slug, revision) or _judgement(project, revision)
    name = project.start_again(due)
    say(f"run {name} started. Ctrl-C stops watching, not the run.")
    raise typer.Exit(watch_to_the_end(project, name))


def _judgement(project: Project, revision: str) -> Submission:
    commit = project.git.commit_id(revision)
    if commit is None:
        raise InputError(f"{revision!r} names no commit. Type a commit id, a branch or HEAD~1.")
    project.refuse(commit)
    pushed = project.forge.head(revision)
    ref = f"refs/heads/{revision}" if pushed == commit else ""
    say(project.git.text("log", "-1", "--format=%h %s", commit))
    return push_of(project.forge, project.slug, commit, ref)


def watch(name: RunName = "") -> None:
    """Follow a run; Ctrl-C stops watching, not the run."""
    project = with_runs()
    raise typer.Exit(watch_to_the_end(project, chosen(project, name, prefix="" if name else "push-")))


def cancel(name: RunName = "") -> None:
    """Stop a run and everything it started."""
    project = with_runs()
    run_name = chosen(project, name)
    phase = project.phase(run_name)
    if phase.fulfilled:
        say(f"run {run_name} has ended already: {phase}")
        return
    project.stop(run_name, "stopped by hand; it counts for nothing. To run it again: gpulab run")
    say(f"run {run_name} is stopped")


def chosen(project: Project, name: str, prefix: str = "") -> str:
    """The named run, or the last one.

    Raises:
        InputError: there is no such run; the known ones are named.
    """
    if name and project.knows(name):
        return name
    known = project.runs(prefix)
    if name:
        raise InputError(f"there is no run {name!r}. The last ones: {', '.join(known[-5:]) or 'none'}")
    if not known:
        raise InputError("there is no run yet. Type `gpulab push`.")
    return known[-1]


def watch_to_the_end(project: Project, name: str) -> int:
    """Follow a run, then say what came of it; its exit code."""
    if project.page(name):
        say(f"look at it: {project.page(name)}")
    waits_for = project.waits_for(name)
    if waits_for:
        say(f"{name} waits for {waits_for[0]}: this machine judges one push at a time")
    try:
        follow(project.follow(name))
    except KeyboardInterrupt:
        say(f"\nstopped watching; run {name} goes on. Look again: gpulab watch {name}. Stop it: gpulab cancel {name}")
        return 130
    results = results_of(project, name) if project.records else None
    return summarise(project, name, results) if results is not None else ended_without_results(project, name)


def ended_without_results(project: Project, name: str) -> int:
    """Say why a run left no results: stopped, superseded, or a run of another kind; its exit code."""
    if project.records and project.phase(name) is Phase.SUCCEEDED:
        return 0
    said = project.said(name)
    say(said.description if said else project.explain(name))
    return exit_code(said)


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
    where = f", in {gate['module']}" if gate.get("module") else ""
    allowed = f" (allowed: {gate['bound']:.4g})" if gate["bound"] is not None else ""
    return f"{gate['value']:.4g}{allowed} {gate['unit']}{where}"
