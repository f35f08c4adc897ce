"""The list of faults, from `faults.toml`."""

import difflib
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any

from gpulab.faults.error import FaultError


@dataclass(frozen=True)
class Fault:
    """One planted fault.

    Attributes:
        name: what is typed after `gpulab break`.
        family: `[model] family` of the starter that it is planted in.
        title: the mistake in a few words.
        file: the changed file, below `src/<package>/`.
        before: the starter's text, whole lines; stands exactly once in the file.
        after: the text that replaces it.
        gates: names of gates that must FAIL; other gates may fail with them.
        modules: glob pattern of the modules that those gates may name.
        says: what the gate says and why the mistake happens to people.
    """

    name: str
    family: str
    title: str
    file: str
    before: str
    after: str
    gates: tuple[str, ...]
    modules: str
    says: str

    def path(self, package: str) -> PurePosixPath:
        """The changed file inside a project, for the package named in its `lab.toml`."""
        return PurePosixPath("src", package, self.file)


@cache
def faults() -> tuple[Fault, ...]:
    """All faults, in the order of the file."""
    text = files("gpulab.faults").joinpath("faults.toml").read_text(encoding="utf-8")
    return tuple(_fault(name, row) for name, row in tomllib.loads(text).items())


def faults_of(family: str) -> tuple[Fault, ...]:
    """The faults of one starter."""
    return tuple(fault for fault in faults() if fault.family == family)


def fault_named(name: str, family: str = "") -> Fault:
    """The fault of a name, for a project of a family ("": of any).

    Raises:
        FaultError: there is none of that name, or it belongs to another starter.
    """
    known = {fault.name: fault for fault in faults()}
    if family and name in known and known[name].family != family:
        mine = ", ".join(fault.name for fault in faults_of(family))
        raise FaultError(
            f"{name!r} is a fault of the starter {known[name].family}, and this project has [model] family = "
            f'"{family}"; its faults are {mine}. Type: gpulab break {faults_of(family)[0].name}'
        )
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        meant = f" Type: gpulab break {near[0]}" if near else ""
        raise FaultError(f"no fault is named {name!r}; there are {', '.join(known)}.{meant}")
    return known[name]


def _fault(name: str, row: dict[str, Any]) -> Fault:
    texts = {key: value.strip("\n") for key, value in row.items() if key != "gates"}
    return Fault(name=name, gates=tuple(row["gates"]), **{"family": "llama", **texts})
