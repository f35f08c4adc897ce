"""`gpulab platform upgrade|pin`: for whoever installs and looks after the platform."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gpulab.cli.words import say
from gpulab.doctor.collect import collect
from gpulab.errors import InputError, PlatformError
from gpulab.kubernetes.connect import connect
from gpulab.upgrade import kubectl
from gpulab.upgrade.cluster import move, planned
from gpulab.upgrade.pins import pin
from gpulab.upgrade.words import refusal, told


class Action(StrEnum):
    """What is done."""

    UPGRADE = "upgrade"
    PIN = "pin"


def platform(
    action: Annotated[Action, typer.Argument(help="upgrade the cluster of KUBECONFIG; pin the images of an overlay.")],
    overlay: Annotated[Path, typer.Option("--overlay", help="Your overlay's folder.")] = Path(),
    insecure: Annotated[bool, typer.Option("--insecure", help="pin: ask registries over plain HTTP.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="upgrade: apply what was shown.")] = False,
) -> None:
    """Show what an overlay would change and, with --yes, apply it; or write the digests of its images."""
    if not (overlay / "kustomization.yaml").is_file():
        raise InputError(
            f"--overlay: {overlay} has no kustomization.yaml. docs/install.md shows an overlay of ten lines."
        )
    if action is Action.PIN:
        for line in pin(overlay, insecure):
            say(line)
        return
    _upgrade(overlay, yes)


def _upgrade(overlay: Path, yes: bool) -> None:
    api = connect()
    seen = collect(api)
    changes = kubectl.diff(overlay, say)
    upgrade = planned(api, seen, overlay)
    for line in told(upgrade):
        say(line)
    if not changes and not upgrade.moved:
        say("nothing to do: the cluster is as the overlay and this version say")
        return
    if why := refusal(upgrade):
        raise PlatformError(why)
    if not yes:
        say("nothing was changed. To apply it: add --yes")
        return
    kubectl.apply(overlay, say)
    for one in upgrade.moved:
        move(api, one)
    say("applied. Next: gpulab doctor")
