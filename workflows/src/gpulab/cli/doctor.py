"""`gpulab doctor`: what is wrong with an installation, and what to do about it. For platform maintainers."""

import json
from pathlib import Path
from typing import Annotated

import typer

from gpulab.cli.words import coloured, say
from gpulab.doctor import examine
from gpulab.doctor.asking import reached
from gpulab.doctor.check import Check
from gpulab.doctor.collect import collect
from gpulab.kubernetes.connect import connect
from gpulab.upgrade.drift import drift


def doctor(
    project: Annotated[
        list[str] | None, typer.Option("--project", help="Look at this tenant alone; repeatable.")
    ] = None,
    overlay: Annotated[
        Path | None, typer.Option("--overlay", help="Compare the cluster with this overlay too.")
    ] = None,
    allow_old: Annotated[bool, typer.Option("--allow-old", help="Old versions are a warning only.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document instead of lines.")] = False,
) -> None:
    """Check every object and version of the cluster of KUBECONFIG, and send each tenant a signed test event."""
    api = connect()
    seen = collect(api, project or ())
    checks = [*examine(seen, allow_old), *([drift(overlay)] if overlay else []), *reached(api, seen)]
    failed = sum(one.level == "FAIL" for one in checks)
    if as_json:
        say(json.dumps({"failed": failed, "checks": [one.document() for one in checks]}, indent=2))
    else:
        for one in checks:
            say(_shown(one))
        say(f"{failed} to mend, {len(checks)} looked at." if failed else f"ok: {len(checks)} looked at.")
    if failed:
        raise typer.Exit(3)


def _shown(check: Check) -> str:
    return coloured(check.level) + str(check).removeprefix(check.level)
