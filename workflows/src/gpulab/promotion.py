"""Promotion: a pull request that makes production run the digest that teaching runs."""

import dataclasses
import difflib
from collections.abc import Mapping
from typing import Any

from gpulab.errors import InputError
from gpulab.events import PRODUCTION, TEACHING, sync_context
from gpulab.forges.protocol import Forge, PullRequest
from gpulab.steps.release import commit_release
from gpulab.steps.release_file import MANIFESTS, RELEASE, Release, read_release


def running(forge: Forge, branch: str) -> Release | None:
    """The release at the head of a deploy branch; None when there is none."""
    head = forge.head(branch)
    return read_release(forge.read(head, RELEASE), branch) if head else None


def propose(forge: Forge, results: Mapping[str, Any]) -> PullRequest:
    """Open the pull request that promotes teaching's digest.

    Args:
        forge: the project's forge.
        results: the record of the run that proved teaching's release.

    Raises:
        InputError: nothing is released to teaching, or production runs it already.
    """
    teaching, production = running(forge, TEACHING), running(forge, PRODUCTION)
    if teaching is None:
        raise InputError("nothing is released to teaching yet. Type `gpulab push`; a PASS releases it.")
    said = forge.statuses(forge.head(TEACHING) or "").get(sync_context("teaching"))
    if said is None or said.state != "success":
        raise InputError(f"teaching does not run it: {said.description if said else 'its sync has not ended yet'}")
    if production and production.digest == teaching.digest and production.source == teaching.source:
        raise InputError(f"production already runs {teaching.digest[:19]}, the same as teaching")
    new = dataclasses.replace(teaching, environment="production")
    branch, base = f"promote/{new.source[:12]}", forge.head(PRODUCTION)
    head = commit_release(forge, new, branch, base, f"Promote {new.source[:12]} to production")
    body = describe(new, results, change(forge, base, head))
    return forge.open_pull_request(PRODUCTION, branch, f"Promote {new.source[:12]} to production", body)


def change(forge: Forge, base: str | None, head: str) -> str:
    """The rendered change as a unified diff."""
    before = (forge.read(base, MANIFESTS) or b"").decode() if base else ""
    after = (forge.read(head, MANIFESTS) or b"").decode()
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), "production", "this request", lineterm="", n=2
    )
    return "\n".join(lines)


def describe(release: Release, results: Mapping[str, Any], diff: str) -> str:
    """The text of the pull request (Markdown): digest, gate table, run, rendered change."""
    rows = [
        f"| {gate['name']} | {gate.get('accelerator', '')} | {gate['verdict']} | {number(gate['value'])} "
        f"| {number(gate['bound'])} | {gate['unit']} |"
        for gate in results["gates"]
    ]
    return "\n".join(
        [
            f"Production will run `{release.repository}@{release.digest}`, which run `{release.run}` proved.",
            "",
            "| gate | accelerator | verdict | value | bound | unit |",
            "|---|---|---|---|---|---|",
            *rows,
            "",
            "```diff",
            diff,
            "```",
        ]
    )


def number(value: float | None) -> str:
    """A number for a table: four significant digits, nothing for None."""
    return "" if value is None else f"{value:.4g}"
