"""Who may write what, the same on every forge: the bot's branches, and what a merge must meet."""

import re

from gpulab.errors import InputError, PlatformError
from gpulab.events import PROMOTION_CHECK, RESERVED
from gpulab.forges.protocol import Forge, PullRequest


def only_the_platforms(branch: str) -> None:
    """The bot writes `deploy/*` and `promote/*`, in lower case.

    Raises:
        PlatformError: it is another branch.
    """
    if re.match(RESERVED, f"refs/heads/{branch}") is None:
        raise PlatformError(f"the platform's bot does not write {branch}, only deploy/* and promote/*")


def moved(branch: str, expected: str | None, found: str | None = None) -> PlatformError:
    """The error when somebody wrote the branch in between."""
    now = f"is at {found}, not at {expected}" if found else f"is no longer at {expected}"
    return PlatformError(f"{branch} {now}: another release was faster. Try again.")


def mergeable(forge: Forge, number: int) -> tuple[PullRequest, str | None]:
    """The pull request, which is open, on top of its base, and whose check passed; and that base.

    Raises:
        InputError: it is not.
    """
    pull = next((one for one in forge.pull_requests() if one.number == number), None)
    if pull is None or pull.state != "open":
        raise InputError(f"pull request {number} is {pull.state if pull else 'unknown'}: only an open one merges")
    check = forge.statuses(pull.head).get(PROMOTION_CHECK)
    if check is None or check.state != "success":
        said = f"{check.state}: {check.description}" if check else "not there yet"
        raise InputError(f"pull request {number} does not merge: its required check {PROMOTION_CHECK} is {said}")
    base = forge.head(pull.base)
    if base is not None and not forge.is_ancestor(base, pull.head):
        raise InputError(f"{pull.base} moved on since this pull request was made. Type `gpulab promote` again.")
    return pull, base
