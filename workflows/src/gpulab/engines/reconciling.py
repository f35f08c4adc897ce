"""The facts and the hands of `gpulab.reconcile` on one machine: forge and engine in `.gpulab/`."""

from collections.abc import Sequence
from contextlib import suppress

from gpulab.engines.attempts import runs_named
from gpulab.engines.dispatch import submit
from gpulab.engines.errors import AlreadyExists
from gpulab.engines.local_engine import local_engine
from gpulab.engines.queue import forge_of, phase
from gpulab.errors import InputError, PlatformError
from gpulab.events import MAIN, TEACHING, Submission, attempt, push_run
from gpulab.files import read_json
from gpulab.forges.local import LocalForge
from gpulab.home import Home
from gpulab.reconcile import Action, Facts, Run, Say, Start, missed
from gpulab.steps.release_file import RELEASE, read_release


def facts(home: Home, project: str) -> Facts:
    """What forge and engine say now."""
    forge = forge_of(home)
    heads = forge.heads()
    released = sources(forge, TEACHING)
    return Facts(
        project=project,
        heads=heads,
        messages={commit: forge.message(commit) for commit in set(heads.values())},
        runs=runs(home, project, heads.get("main", "")),
        statuses={file.stem: forge.statuses(file.stem) for file in sorted(home.statuses.glob("*.json"))},
        pulls=forge.pull_requests(),
        released=released,
        contained=frozenset(one for one in released[:1] if forge.is_ancestor(one, MAIN)),
    )


def sources(forge: LocalForge, branch: str) -> list[str]:
    """The commits that a deploy branch released, newest first; what cannot be read is left out."""
    found = []
    for commit in forge.history(branch):
        try:
            found.append(read_release(forge.read(commit, RELEASE), commit[:12]).source)
        except InputError:
            continue
    return found


def runs(home: Home, project: str, head: str) -> list[Run]:
    """Every run; only those of main's head are asked for their verdict."""
    asked = set(runs_named(home, push_run(head, MAIN))) if head else set()
    names = sorted(one.name for one in home.runs.glob("*") if (one / "run.json").exists())
    return [
        Run(name, not phase(home, project, name).fulfilled, name in asked and passed(home, project, name))
        for name in names
    ]


def passed(home: Home, project: str, run: str) -> bool:
    """Whether a push run's verdict is PASS."""
    try:
        results = read_json(local_engine(home, project).artifact(f"{project}/{run}/results.json"))
    except PlatformError:  # damaged: it proves nothing
        return False
    return isinstance(results, dict) and results.get("verdict") == "PASS"


def mend(home: Home, project: str, actions: Sequence[Action]) -> None:
    """Do what is to be done."""
    for action in actions:
        if isinstance(action, Say):
            forge_of(home).set_status(action.revision, action.status)
            continue
        with suppress(AlreadyExists):  # the event came after all
            submit(home, project, action.submission)


def due_again(home: Home, project: str, chosen: Submission) -> Submission | None:
    """The next attempt at a workflow that ran before, when its branch was set back to its commit by force."""
    started = [one.submission for one in missed(facts(home, project)) if isinstance(one, Start)]
    return next((one for one in started if attempt(one.name, chosen.name)), None)
