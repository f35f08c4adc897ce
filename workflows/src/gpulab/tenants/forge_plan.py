"""What the forge is asked for when a project is connected: pure data, said in words by a dry run."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from gpulab.events import PRODUCTION, PROMOTION_CHECK, TEACHING
from gpulab.tenants.project import Tenant
from gpulab.tenants.settings import Platform, hook_url

EVENTS = ("push", "pull_request")


@dataclass(frozen=True)
class Protection:
    """A rule for one branch.

    Attributes:
        branch: whose history nobody may rewrite, administrators included.
        pusher: the only account that may push; "" for nobody: it changes by pull request.
        check: the status that a pull request needs.
    """

    branch: str
    pusher: str = ""
    check: str = ""


@dataclass(frozen=True)
class Tokens:
    """The bot's tokens; "" for one that is not there.

    Attributes:
        bot: writes.
        clone: reads.
    """

    bot: str = field(default="", repr=False)
    clone: str = field(default="", repr=False)


@dataclass(frozen=True)
class ForgePlan:
    """What a project has on its forge."""

    bot: str
    protections: tuple[Protection, ...]
    hook: str


def forge_plan(platform: Platform, tenant: Tenant, bot: str) -> ForgePlan:
    """The plan for a project whose bot is called `bot`."""
    protections = (Protection(TEACHING, pusher=bot), Protection(PRODUCTION, check=PROMOTION_CHECK))
    return ForgePlan(bot, protections, hook_url(platform, tenant))


def in_words(plan: ForgePlan) -> Iterator[str]:
    """One line for each thing, without secrets."""
    yield f"forge: account {plan.bot} may write to the repository; a token that writes, one that reads"
    for one in plan.protections:
        who = f"only {one.pusher} pushes" if one.pusher else f"nobody pushes; pull requests need {one.check}"
        yield f"forge: branch {one.branch}: {who}; administrators too"
    yield f"forge: webhook {plan.hook}: {', '.join(EVENTS)}, JSON, signed"
