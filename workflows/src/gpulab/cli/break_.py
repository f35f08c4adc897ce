"""`gpulab break`: plant a fault on purpose, to see how it is found."""

from pathlib import Path
from typing import Annotated

import typer

from gpulab.cli.project import Project, here
from gpulab.cli.words import say
from gpulab.errors import InputError
from gpulab.faults.catalogue import Fault, fault_named, faults
from gpulab.faults.planting import plant, planted, undo


def break_(
    fault: Annotated[str, typer.Argument(help="Which fault; without one, all are listed.")] = "",
    take_out: Annotated[bool, typer.Option("--undo", help="Take the planted fault out again.")] = False,
) -> None:
    """Plant a fault in your working copy; commit and push it, read the report, then `gpulab break --undo`."""
    if not fault and not take_out:
        for one in faults():
            say(f"{one.name:<12} {one.family:<9} {one.title}")
        return
    project = here()
    say(_undo(project) if take_out else _plant(project, fault_named(fault, project.lab.model.family)))


def _plant(project: Project, fault: Fault) -> str:
    path = project.root / fault.path(project.lab.project.package)
    path.write_bytes(plant(_source(path), fault).encode())
    return (
        f"planted {fault.name!r} in {path.relative_to(project.root)}: {fault.title}\n{fault.says}\n"
        f"Next: git commit -am 'Break {fault.name}' && gpulab push   (then: gpulab break --undo)"
    )


def _undo(project: Project) -> str:
    for one in {fault.file: fault for fault in faults()}.values():
        path = project.root / one.path(project.lab.project.package)
        source = _source(path)
        found = planted(source)
        if found:
            path.write_bytes(undo(source).encode())
            mended = path.relative_to(project.root)
            return f"took {found.name!r} out of {mended}. Next: git commit -am 'Mend' && gpulab push"
    raise InputError("no planted fault found, so there is nothing to undo. To see your own edits, type: git diff")


def _source(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        raise InputError(f"{path} is missing. To bring it back, type: git checkout -- {path.name}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text. Save it as UTF-8 in your editor.") from None
