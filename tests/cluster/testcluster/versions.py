"""What `versions.toml` says, as data."""

import hashlib
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).parents[1]
FILE = HERE / "versions.toml"


@dataclass(frozen=True)
class Group:
    """Programs that are built from one Go module."""

    name: str
    module: str
    version: str
    binaries: dict[str, str]  # file name -> package
    seconds: int
    sum: str = ""  # the module's checksum, when it is built inside its own folder
    names: tuple[str, ...] = ()  # further names of the one binary
    flags: tuple[str, ...] = ()
    ldflags: str = ""
    cgo: bool = False
    share: tuple[str, ...] = ()  # folders of the module that the program reads
    links: tuple[tuple[str, str], ...] = ()
    empty: tuple[str, ...] = ()

    @property
    def programs(self) -> tuple[str, ...]:
        """Every name by which the group's programs can be called."""
        return (*self.binaries, *self.names)


@dataclass(frozen=True)
class ImageBase:
    """The Debian below the cluster's images with Python, and below BuildKit's."""

    suite: str
    mirror: str
    python: str
    packages: tuple[str, ...]
    builder: tuple[str, ...]


@dataclass(frozen=True)
class Versions:
    """The whole file."""

    go: str
    debian: tuple[str, ...]
    image: ImageBase
    groups: tuple[Group, ...]

    def group_of(self, program: str) -> Group:
        """The group that has a program; raises KeyError when none has."""
        for group in self.groups:
            if program in group.programs:
                return group
        raise KeyError(program)


def parse(text: str) -> Versions:
    """The file's text as data; raises TypeError for an unknown key."""
    raw = tomllib.loads(text)
    return Versions(
        go=raw["go"]["at_least"],
        debian=tuple(raw["debian"]["packages"]),
        image=ImageBase(**_tuples(raw["image"])),
        groups=tuple(_group(name, fields) for name, fields in raw["groups"].items()),
    )


def load(path: Path = FILE) -> Versions:
    """`versions.toml` as data."""
    return parse(path.read_text())


def key(group: Group, lock: bytes, go: str) -> str:
    """Changes when the version, the build line, the compiler or a dependency's checksum (`lock`: go.sum) does."""
    what = repr((replace(group, seconds=0), go)).encode()
    return hashlib.sha256(what + lock).hexdigest()[:16]


def _group(name: str, fields: dict[str, Any]) -> Group:
    return Group(name=name, **{**_tuples(fields), "links": tuple(fields.get("links", {}).items())})


def _tuples(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
