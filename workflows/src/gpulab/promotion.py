"""Promotion: a pull request that makes production run the digest that teaching runs."""

import dataclasses
import difflib
from collections.abc import Mapping
from typing import Any

from gpulab.errors import InputError
from gpulab.events import PRODUCTION, PROMOTE, TEACHING, sync_context
from gpulab.forges.protocol import Forge, PullRequest
from gpulab.promotion_text import describe
from gpulab.steps.release_commit import commit_release
from gpulab.steps.release_file import MANIFESTS, RELEASE, Release, read_release


def running(forge: Forge, branch: str) -> Release | None:
    """The release at the head of a deploy branch; None when there is none."""
    head = forge.head(branch)
    return read_release(forge.read(head, RELEASE), branch) if head else None


def to_promote(forge: Forge) -> Release:
    """Teaching's release, as production's.

    Raises:
        InputError: nothing is released to teaching, teaching does not run it, or production has it already.
    """
    teaching, production = running(forge, TEACHING), running(forge, PRODUCTION)
    if teaching is None:
        raise InputError("nothing is released to teaching yet. Type `gpulab push`; a PASS releases it.")
    said = forge.statuses(forge.head(TEACHING) or "").get(sync_context("teaching"))
    if said is None or said.state != "success":
        reason = said.description if said else "its sync has not ended yet"
        raise InputError(f"teaching does not run it: {reason}. To try the sync again: gpulab run deploy/teaching")
    new = dataclasses.replace(teaching, environment="production")
    if production and (production.digest, production.source) == (new.digest, new.source):
        raise InputError(_same(forge, new))
    return new


def _same(forge: Forge, release: Release) -> str:
    said = forge.statuses(forge.head(PRODUCTION) or "").get(sync_context("production"))
    if said is None or said.state != "success":
        reason = said.description if said else "its sync has not ended yet"
        return f"{PRODUCTION} holds it already, but: {reason}. To try the sync again: gpulab run {PRODUCTION}"
    return f"production already runs {release.digest[:19]}, the same as teaching"


def standing(forge: Forge, branch: str, release: Release) -> PullRequest | None:
    """The open pull request that asks for just this release on top of what production runs, if there is one."""
    base = forge.head(PRODUCTION)
    for pull in forge.pull_requests():
        if pull.state != "open" or pull.branch != branch or forge.read(pull.head, RELEASE) != release.to_json():
            continue
        if base is None or forge.is_ancestor(base, pull.head):
            return pull
    return None


def branch_of(release: Release) -> str:
    """The branch from which a release asks for production."""
    return f"{PROMOTE}{release.source[:12]}"


def asking_for_another(forge: Forge, release: Release) -> list[PullRequest]:
    """The open pull requests to production that ask for something else than this release."""
    mine = branch_of(release)
    return [pull for pull in forge.pull_requests() if pull.state == "open" and pull.branch != mine]


def propose(forge: Forge, release: Release, results: Mapping[str, Any]) -> PullRequest:
    """Open (or find) the pull request that makes production run a release.

    Args:
        forge: the project's forge.
        release: as `to_promote` gives it.
        results: the record of the run that proved it.
    """
    branch = branch_of(release)
    known = standing(forge, branch, release)
    if known:
        return known
    base, before, title = forge.head(PRODUCTION), running(forge, PRODUCTION), f"Promote {release.source[:12]}"
    head = commit_release(forge, release, branch, base, f"{title} to production")
    body = describe(release, results, change(forge, base, head), before)
    return forge.open_pull_request(PRODUCTION, branch, f"{title} to production", body)


def change(forge: Forge, base: str | None, head: str) -> list[str]:
    """The rendered change as the lines of a unified diff; the same input gives the same lines."""
    before = (forge.read(base, MANIFESTS) or b"").decode(errors="replace") if base else ""
    after = (forge.read(head, MANIFESTS) or b"").decode(errors="replace")
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), "production", "this request", lineterm="", n=2
    )
    return list(lines)
