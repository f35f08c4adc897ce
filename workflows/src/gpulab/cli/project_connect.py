"""`gpulab project connect|disconnect`: what a project needs on the platform; typed once, by an administrator."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gpulab.cli.words import say
from gpulab.errors import InputError
from gpulab.kubernetes.connect import connect as log_in
from gpulab.tenants.cluster import Cluster
from gpulab.tenants.connect import connect, disconnect, shown
from gpulab.tenants.forge_admin import ForgeAdmin
from gpulab.tenants.forge_plan import Tokens
from gpulab.tenants.gitea_admin import gitea_admin
from gpulab.tenants.github_admin import github_admin
from gpulab.tenants.project import Tenant, tenant
from gpulab.tenants.settings import Platform

ADMIN, BOT, CLONE = "GPULAB_FORGE_ADMIN_TOKEN", "GPULAB_FORGE_BOT_TOKEN", "GPULAB_FORGE_CLONE_TOKEN"


class Action(StrEnum):
    """What is done with a project."""

    CONNECT = "connect"
    DISCONNECT = "disconnect"


def project(
    action: Annotated[Action, typer.Argument(help="connect, or its reverse.")],
    slug: Annotated[str, typer.Argument(help="project.slug of its lab.toml.")],
    repository: Annotated[str, typer.Option("--repository", help="owner/name on the forge.")],
    forge_token_file: Annotated[str, typer.Option(help=f"The forge's administrator's token; else {ADMIN}.")] = "",
    bot_token_file: Annotated[str, typer.Option(help=f"GitHub: the bot's token that writes; else {BOT}.")] = "",
    clone_token_file: Annotated[str, typer.Option(help=f"GitHub: the bot's token that reads; else {CLONE}.")] = "",
    gpus: Annotated[int, typer.Option("--gpus", help="GPUs that the project may hold at once, per namespace.")] = 1,
    kubeconfig: Annotated[str, typer.Option(help="Default: KUBECONFIG.")] = "",
    context: Annotated[str, typer.Option(help="Default: the current one.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be made; change nothing.")] = False,
    yes: Annotated[str, typer.Option("--yes", metavar="SLUG", help="disconnect: the project's name again.")] = "",
) -> None:
    """Connect a project to the platform (namespaces, rights, secrets, webhook, protections), or disconnect it."""
    wanted = tenant(slug, repository, gpus)
    if action is Action.DISCONNECT and yes != slug and not dry_run:
        raise InputError(f"this removes all that {slug} runs and its secrets. If that is meant, add: --yes {slug}")
    cluster = Cluster(log_in(kubeconfig, context))
    platform = cluster.platform()
    if dry_run:
        say(shown(platform, wanted) if action is Action.CONNECT else _removed(wanted))
        return
    given = Tokens(_token(BOT, bot_token_file), _token(CLONE, clone_token_file))
    admin = _admin(platform, wanted, _token(ADMIN, forge_token_file), given)
    if action is Action.DISCONNECT:
        disconnect(cluster, admin, platform, wanted, say)
        say(f"{slug} is disconnected; its repository keeps its branches")
        return
    connect(cluster, admin, platform, wanted, say)
    say(f"{slug} is connected. Next: git push to main of {repository}")


def _admin(platform: Platform, wanted: Tenant, token: str, given: Tokens) -> ForgeAdmin:
    if not token:
        raise InputError(f"a token of the forge's administrator is needed: --forge-token-file FILE, or {ADMIN}")
    if platform["FORGE_KIND"] == "github":
        return github_admin(platform["FORGE_API"], wanted.repository, token, given)
    return gitea_admin(platform["FORGE_API"], wanted.repository, token)


def _token(variable: str, file: str) -> str:
    """A token out of a file, else out of the environment; never out of an argument, which others can see."""
    try:
        found = Path(file).read_text(encoding="utf-8") if file else os.environ.get(variable, "")
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read ({error})") from None
    return found.strip()


def _removed(wanted: Tenant) -> str:
    namespaces = ", ".join(wanted.namespace(role) for role in ("ci", "build", "teaching", "production"))
    return f"would remove: webhook, event bindings, namespaces {namespaces}, branch protections, account {wanted.bot}"
