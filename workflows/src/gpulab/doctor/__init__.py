"""`gpulab doctor`: every object and version of an installation, compared with what this version of gpulab needs.

What is asked of the cluster is in `collect` and `asking`; everything else decides from data.
"""

from collections.abc import Iterator

from gpulab.doctor import access, definitions, installation, queueing, templates, tenants, versions
from gpulab.doctor.check import Check
from gpulab.doctor.snapshot import Snapshot

__all__ = ["Check", "Snapshot", "examine"]


def examine(seen: Snapshot, allow_old: bool = False) -> Iterator[Check]:
    """Every check that needs nothing but what was collected, in the order in which things are to be mended.

    Args:
        allow_old: versions below the floor are a warning; for tests of gpulab itself.
    """
    for path, reason in sorted(seen.unreadable.items()):
        yield Check("WARN", f"read {path}", reason, "Log in as somebody who may; what is below it is not checked.")
    yield from versions.checks(seen, allow_old)
    yield from definitions.checks(seen)
    yield from installation.checks(seen)
    yield from queueing.checks(seen)
    yield from templates.checks(seen)
    yield from tenants.checks(seen)
    yield from access.checks(seen)
