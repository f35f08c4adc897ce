"""Find a commit's baselines on the forge, and pack the sources of those that are comparable."""

import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from model_tests.speed.baselines import LARGEST, MOST_MEMBERS, NAMES, Baseline

from gpulab.contract.baselines import Releases, Version, compared, never_released, wanted
from gpulab.contract.finding import LAB, ContractError
from gpulab.contract.lab import Lab
from gpulab.contract.read import parse_lab
from gpulab.errors import InputError
from gpulab.events import PRODUCTION, TEACHING
from gpulab.forges.protocol import Forge
from gpulab.steps.release_file import RELEASE, read_release

LOCKS = "requirements*.txt"
SHARE = len(NAMES) + 1
"""Each baseline may take its share of the archive, which leaves room for the tar's own blocks."""


@dataclass(frozen=True)
class Baselines:
    """The baselines of one commit.

    Attributes:
        found: all of them, with the reason of those that are not comparable.
        archive: a tar with `<name>/src/…` of the others; None when there are none.
    """

    found: list[Baseline]
    archive: bytes | None


def find_baselines(forge: Forge, revision: str, lab: Lab, source: Path) -> Baselines:
    """Decide what a commit is compared with.

    Args:
        source: the commit's tree.

    Raises:
        ContractError: the declared anchor was never released.
        PlatformError: the forge cannot be read.
    """
    releases = released(forge)
    problem = never_released(lab.benchmark.anchor, releases)
    if problem is not None:
        raise ContractError([problem])
    new = Version(lab, _locks(source))
    found, packed = [], io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for one in wanted(revision, lab.benchmark.anchor, releases):
            found.append(one if one.reason else _compared(forge, one, new, tar))
    return Baselines(found, packed.getvalue() if any(not one.reason for one in found) else None)


def released(forge: Forge) -> Releases:
    """The sources of all releases; a commit of a deploy branch that holds no release counts for nothing."""
    sources = [source for commit in forge.history(TEACHING) if (source := _source(forge, commit))]
    heads = [forge.head(branch) for branch in (TEACHING, PRODUCTION)]
    now = [_source(forge, head) if head else "" for head in heads]
    return Releases(now[0], now[1], tuple(sources))


def _source(forge: Forge, commit: str) -> str:
    try:
        return read_release(forge.read(commit, RELEASE), commit[:12]).source
    except InputError:
        return ""


def _compared(forge: Forge, one: Baseline, new: Version, tar: tarfile.TarFile) -> Baseline:
    """Compare with an older commit, whose source joins the archive when it is comparable."""
    text = forge.read(one.commit, LAB)
    if text is None:
        return compared(one, new, Version(None))
    with TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        forge.checkout(one.commit, tree)
        members = list(_members(tree / "src", one.name))
        size = sum(len(data) for _, data in members)
        fits = bool(members) and size <= LARGEST // SHARE and len(members) <= MOST_MEMBERS // SHARE
        decided = compared(one, new, Version(_lab(text), _locks(tree), size if fits else None))
        for member, data in members if not decided.reason else []:
            tar.addfile(member, io.BytesIO(data))
    return decided


def _lab(text: bytes) -> Lab | None:
    try:
        return parse_lab(text.decode())
    except (ContractError, UnicodeDecodeError):
        return None


def _locks(tree: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(tree.glob(LOCKS)) if path.is_file()}


def _members(source: Path, name: str) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
    """The regular files below `src/`, without owners, times or modes: the same commit gives the same bytes."""
    for path in sorted(source.rglob("*"), key=lambda one: one.relative_to(source).as_posix()):
        if path.is_file() and not path.is_symlink():
            member = tarfile.TarInfo(f"{name}/src/{path.relative_to(source).as_posix()}")
            data = path.read_bytes()
            member.size = len(data)
            yield member, data
