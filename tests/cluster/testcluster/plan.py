"""What a build has to do: pure decisions about groups, folders and command lines."""

from dataclasses import dataclass
from pathlib import Path

from testcluster.versions import Group, Versions

ALWAYS = ("-trimpath",)
STRIPPED = "-s -w"


@dataclass(frozen=True)
class Step:
    """One group and the folder where its programs belong."""

    group: Group
    folder: Path
    built: bool

    def program(self, name: str) -> Path:
        """Where a program of this group is, or will be."""
        return self.folder / "bin" / name


def plan(versions: Versions, tools: Path, keys: dict[str, str]) -> list[Step]:
    """Every group in the file's order; `keys` are the groups' cache keys."""
    steps = []
    for group in versions.groups:
        folder = tools / group.name / keys[group.name]
        steps.append(Step(group, folder, (folder / ".complete").exists()))
    return steps


@dataclass(frozen=True)
class Job:
    """One thing to build, with the seconds that it takes."""

    name: str
    seconds: int
    built: bool


def chosen(jobs: list[Job], only: str | None) -> list[Job]:
    """The jobs that are left to do; raises ValueError, ready to be shown, for an unknown name."""
    names = [job.name for job in jobs]
    if only is not None and only not in names:
        raise ValueError(f"--only {only}: nothing is called so; choose one of {', '.join(names)}")
    return [job for job in jobs if not job.built and only in (None, job.name)]


def fits(job: Job, spent: float, within: float | None) -> bool:
    """Whether a job should be begun, `spent` seconds after the start of a build that may take `within`."""
    return within is None or spent + job.seconds <= within


def announced(todo: list[Job], number: int) -> str:
    """The line before a job: how long it takes and what follows."""
    following = f"then {todo[number + 1].name}" if number + 1 < len(todo) else "the last"
    return f"{todo[number].name}: about {todo[number].seconds} s, {following}"


def unfinished(todo: list[Job], within: float | None) -> str:
    """The line that says what a build had no time for."""
    return f"not built within {within:.0f} s: " + ", ".join(f"{job.name} (about {job.seconds} s)" for job in todo)


def command(group: Group, package: str, out: Path) -> list[str]:
    """The build line of one program."""
    ldflags = f"{STRIPPED} {group.ldflags}".strip()
    return ["go", "build", *ALWAYS, *group.flags, "-ldflags", ldflags, "-o", str(out), package]


def environment(group: Group, inherited: dict[str, str]) -> dict[str, str]:
    """The compiler's environment: nothing of the caller's flags or workspace may change the result."""
    dropped = {"GOFLAGS", "GOWORK", "GOOS", "GOARCH"}
    kept = {name: value for name, value in inherited.items() if name not in dropped}
    path = f"{kept.get('PATH', '')}:/usr/local/go/bin"
    return {
        **kept,
        "PATH": path,
        "CGO_ENABLED": "1" if group.cgo else "0",
        "GOFLAGS": "-buildvcs=false",
        "GOWORK": "off",
    }


def new_enough(found: str, at_least: str) -> bool:
    """Whether `go1.26.8` is at least `1.26`."""
    numbers = [int(part) for part in found.removeprefix("go").split(".") if part.isdigit()]
    return numbers >= [int(part) for part in at_least.split(".")]
