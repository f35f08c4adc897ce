"""What a person may have run again: a pushed commit, a sync, the check of a promotion. From a forge to a submission."""

import re

from gpulab.errors import InputError
from gpulab.events import (
    MAIN,
    PRODUCTION,
    PROMOTE,
    RESERVED,
    TEACHING,
    Submission,
    promotion_run,
    push_run,
    sync_run,
)
from gpulab.forges.protocol import Forge


def push_of(forge: Forge, project: str, revision: str, ref: str = "") -> Submission:
    """The judgement of a pushed commit.

    Args:
        ref: the branch; default: main when it contains the commit, else the first branch that does.

    Raises:
        InputError: no branch of the forge contains the commit.
    """
    ref = ref or branch_of(forge, revision)
    return Submission("push", push_run(revision, ref), {"project": project, "revision": revision, "ref": ref})


def branch_of(forge: Forge, revision: str) -> str:
    """The branch that a commit was pushed to.

    Raises:
        InputError: none of the forge's branches contains it.
    """
    refs = [f"refs/heads/{branch}" for branch in sorted(forge.heads())]
    people = [ref for ref in (MAIN, *refs) if re.match(RESERVED, ref) is None]
    found = next((ref for ref in people if forge.is_ancestor(revision, ref)), None)
    if found is None:
        raise InputError(
            f"commit {revision[:12]} is in no branch of the forge: it was not pushed, or replaced, or its branch was "
            "deleted. Type `gpulab push`."
        )
    return found


def branch_work(forge: Forge, project: str, branch: str) -> Submission | None:
    """What the platform does with one of its own branches; None when it is none of them.

    Raises:
        InputError: the branch is not there.
    """
    if branch not in (TEACHING, PRODUCTION) and not branch.startswith(PROMOTE):
        return None
    head = forge.head(branch)
    if head is None:
        raise InputError(f"the forge has no branch {branch}. `gpulab status` shows what runs where.")
    if branch.startswith(PROMOTE):
        return check_of(forge, project, head)
    return sync_of(project, branch.removeprefix("deploy/"), head)


def sync_of(project: str, environment: str, head: str) -> Submission:
    """The sync of the head of a deploy branch."""
    parameters = {"project": project, "revision": head, "environment": environment}
    return Submission("sync", sync_run(environment, head), parameters)


def check_of(forge: Forge, project: str, head: str) -> Submission:
    """The check of a promotion.

    Raises:
        InputError: no open pull request to production has this head.
    """
    pulls = forge.pull_requests()
    if not any(pull.head == head and pull.state == "open" and pull.base == PRODUCTION for pull in pulls):
        raise InputError(f"no open pull request to {PRODUCTION} has the head {head[:12]}. Type `gpulab promote`.")
    return Submission("verify-promotion", promotion_run(head), {"project": project, "revision": head})
