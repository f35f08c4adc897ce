"""Rollback: an environment runs an earlier release again, by the way on which every release comes there.

What comes back is that release's own commit, file by file, so it is proven by the same record as before.
"""

import itertools
from dataclasses import dataclass

from gpulab.errors import InputError
from gpulab.events import PRODUCTION, PROMOTE, sync_context
from gpulab.forges.protocol import Forge, PullRequest
from gpulab.promotion import change, running, standing
from gpulab.promotion_text import facts, fenced, shortened
from gpulab.steps.release_file import MANIFESTS, RELEASE, Release, read_release


@dataclass(frozen=True)
class Earlier:
    """A release that an environment ran before: the commit of its deploy branch, and what it holds."""

    commit: str
    release: Release


def earlier(forge: Forge, environment: str) -> list[Earlier]:
    """The releases that an environment ran and that answered, newest first, without the one it runs now."""
    branch, context = f"deploy/{environment}", sync_context(environment)
    now, found = running(forge, branch), []
    for commit in itertools.islice(forge.history(branch), 1, None):
        said = forge.statuses(commit).get(context)
        if said is not None and said.state == "success":
            found.append(Earlier(commit, read_release(forge.read(commit, RELEASE), commit[:12])))
    return [one for one in found if one.release != now]


def target(forge: Forge, environment: str, source: str = "") -> Earlier:
    """The release to go back to.

    Args:
        forge: the project's forge.
        environment: `teaching` or `production`.
        source: the beginning of the commit that was built; default: the newest earlier release.

    Raises:
        InputError: there is none.
    """
    known = earlier(forge, environment)
    if not known:
        raise InputError(f"{environment} has no earlier release that answered, so there is nothing to go back to")
    found = [one for one in known if one.release.source.startswith(source)]
    if not found:
        names = ", ".join(dict.fromkeys(one.release.source[:12] for one in known))
        raise InputError(f"{environment} never ran a release of {source!r}. It ran: {names}")
    return found[0]


def restore(forge: Forge, environment: str, to: Earlier) -> str:
    """Commit an earlier release to the environment's own branch; the new commit. For teaching."""
    branch = f"deploy/{environment}"
    return _commit(forge, branch, forge.head(branch), environment, to)


def propose_rollback(forge: Forge, to: Earlier) -> PullRequest:
    """Open (or find) the pull request that brings an earlier release back to production."""
    branch = f"{PROMOTE}rollback-{to.release.source[:12]}"
    known = standing(forge, branch, to.release)
    if known:
        return known
    base, before = forge.head(PRODUCTION), running(forge, PRODUCTION)
    head = _commit(forge, branch, base, "production", to)
    body = "\n\n".join(
        [
            f"Production will run `{to.release.repository}@{to.release.digest}` again, as in commit `{to.commit}`.",
            facts(to.release, before),
            "**Rendered change**\n\n" + fenced(shortened(change(forge, base, head))),
        ]
    )
    return forge.open_pull_request(PRODUCTION, branch, _title("production", to), body)


def _commit(forge: Forge, branch: str, parent: str | None, environment: str, to: Earlier) -> str:
    files = {name: forge.read(to.commit, name) or b"" for name in (MANIFESTS, RELEASE)}
    message = f"{_title(environment, to)}\n\nRun: {to.release.run}\nDigest: {to.release.digest}\n"
    return forge.commit(branch, files, message, parent)


def _title(environment: str, to: Earlier) -> str:
    return f"Roll {environment} back to {to.release.source[:12]}"
