"""What a commit's speed is compared with: which older commits, and which of them are comparable. Pure.

The rows go into the plan; `model_tests.speed.baselines` reads them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from model_tests.speed.baselines import Baseline

from gpulab.contract.finding import Finding, wrong
from gpulab.contract.lab import Lab

NOT_IN_THE_IMAGE = ("requirements-dev.txt", "requirements-platform.txt")
"""Lock files that the Dockerfile does not install: what they say changes nothing that is timed."""


@dataclass(frozen=True)
class Releases:
    """Sources of releases, by commit.

    Attributes:
        teaching: of the one that teaching runs; "" when there is none.
        production: of the one that production runs; "" when there is none.
        sources: of all that teaching ever ran, newest first.
    """

    teaching: str = ""
    production: str = ""
    sources: Sequence[str] = ()


@dataclass(frozen=True)
class Version:
    """What decides whether two commits are comparable.

    Attributes:
        lab: its contract; None when this gpulab cannot read it.
        locks: its requirements*.txt, by name.
        packed: bytes of its `src/`, files and all; None when it has none, or more than may be carried along.
    """

    lab: Lab | None
    locks: Mapping[str, bytes] = field(default_factory=dict)
    packed: int | None = 0


def wanted(revision: str, anchor: str, releases: Releases) -> list[Baseline]:
    """The baselines of a commit, each commit once: what teaching runs, what production runs, and the anchor.

    Args:
        revision: the commit that is judged; it is never compared with itself.
        anchor: `[benchmark] anchor`; "" for the first release.
    """
    if not releases.teaching:
        return [Baseline("teaching", reason="no-release")]
    anchor = anchor or (releases.sources[-1] if releases.sources else "")
    named = {"teaching": releases.teaching, "production": releases.production, "anchor": anchor}
    found: list[Baseline] = []
    for name, commit in named.items():
        earlier = next((one.name for one in found if one.commit == commit), "")
        if commit and not (name == "production" and earlier):
            reason = "itself" if commit == revision else f"same-as-{earlier}" if earlier else ""
            found.append(Baseline(name, commit, reason))
    return found


def never_released(anchor: str, releases: Releases) -> Finding | None:
    """What is wrong with a declared anchor: it has to be the source of a release to teaching."""
    if not anchor or anchor in releases.sources:
        return None
    known = ", ".join(releases.sources[:3]) or "nothing yet"
    message = f"found {anchor}, which was never released to teaching; released were {known}"
    return wrong("[benchmark] anchor", message, 'Type: anchor = "" for the first release, or the full id of another.')


def compared(one: Baseline, new: Version, old: Version) -> Baseline:
    """The baseline with what its side needs to run, or with the reason why it is not comparable."""
    if new.lab is None or old.lab is None:
        return Baseline(one.name, one.commit, "unreadable")
    reason = _difference(new, old)
    return Baseline(one.name, one.commit, reason, old.lab.model.factory, old.lab.model.seed)


def _difference(new: Version, old: Version) -> str:
    assert new.lab is not None and old.lab is not None  # noqa: S101  compared() looked
    if _installed(new.locks) != _installed(old.locks):
        return "other-lock"
    if _model(new.lab) != _model(old.lab):
        return "other-model"
    if new.lab.inputs != old.lab.inputs:
        return "other-inputs"
    if new.lab.serving.dtype != old.lab.serving.dtype:
        return "other-dtype"
    return "too-large" if old.packed is None else ""


def _installed(locks: Mapping[str, bytes]) -> dict[str, bytes]:
    return {name: content for name, content in locks.items() if name not in NOT_IN_THE_IMAGE}


def _model(lab: Lab) -> tuple[Any, ...]:
    return lab.model.family, lab.model.output, lab.model.config


def rows(baselines: Sequence[Baseline]) -> list[dict[str, Any]]:
    """The rows of the plan."""
    return [asdict(one) for one in baselines]
