"""What a person may run again: a pushed commit, a sync, the check of a promotion."""

import re

from gpulab.engines.dispatch import start_again
from gpulab.engines.queue import forge_of
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
from gpulab.home import Home


def submit_again(home: Home, project: str, revision: str, ref: str = "") -> str:
    """Start another run of a pushed commit.

    Args:
        ref: the branch; default: main when it contains the commit, else the first branch that does.

    Raises:
        InputError: no branch of the forge contains the commit.
    """
    ref = ref or branch_of(home, revision)
    parameters = {"project": project, "revision": revision, "ref": ref}
    return start_again(home, project, Submission("push", push_run(revision, ref), parameters))


def branch_of(home: Home, revision: str) -> str:
    """The branch that a commit was pushed to.

    Raises:
        InputError: none of the forge's branches contains it.
    """
    forge = forge_of(home)
    refs = [f"refs/heads/{branch}" for branch in sorted(forge.heads())]
    people = [ref for ref in (MAIN, *refs) if re.match(RESERVED, ref) is None]
    found = next((ref for ref in people if forge.is_ancestor(revision, ref)), None)
    if found is None:
        raise InputError(
            f"commit {revision[:12]} is in no branch of the forge: it was not pushed, or replaced, or its branch was "
            "deleted. Type `gpulab push`."
        )
    return found


def submit_branch_again(home: Home, project: str, branch: str) -> str | None:
    """Start once more what the platform does with one of its own branches; None when it is none of them.

    Raises:
        InputError: the branch is not there.
    """
    if branch not in (TEACHING, PRODUCTION) and not branch.startswith(PROMOTE):
        return None
    head = forge_of(home).head(branch)
    if head is None:
        raise InputError(f"the forge has no branch {branch}. `gpulab status` shows what runs where.")
    if branch.startswith(PROMOTE):
        return check_again(home, project, head)
    return sync_again(home, project, branch.removeprefix("deploy/"), head)


def sync_again(home: Home, project: str, environment: str, head: str) -> str:
    """Start one more sync of the head of a deploy branch."""
    parameters = {"project": project, "revision": head, "environment": environment}
    return start_again(home, project, Submission("sync", sync_run(environment, head), parameters))


def check_again(home: Home, project: str, head: str) -> str:
    """Start one more check of a promotion.

    Raises:
        InputError: no open pull request to production has this head.
    """
    pulls = forge_of(home).pull_requests()
    if not any(pull.head == head and pull.state == "open" and pull.base == PRODUCTION for pull in pulls):
        raise InputError(f"no open pull request to {PRODUCTION} has the head {head[:12]}. Type `gpulab promote`.")
    parameters = {"project": project, "revision": head}
    return start_again(home, project, Submission("verify-promotion", promotion_run(head), parameters))
