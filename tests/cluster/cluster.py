"""A real Kubernetes cluster on this machine: `python tests/cluster/cluster.py build|up|status|logs|down`."""

import argparse
import sys
from pathlib import Path

from testcluster import build, down, logs, status, up, versions
from testcluster.errors import ShownError
from testcluster.layout import Layout

STATE = Path("/run/gpulab-cluster")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="cluster.py", description=__doc__)
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")
    making = verbs.add_parser("build", help="install what Debian has, compile the rest, make the images; all is cached")
    making.add_argument("--within", type=float, metavar="SECONDS", help="begin nothing that ends later; exit code 3")
    making.add_argument("--only", metavar="GROUP", help="one group of versions.toml, or `images`")
    starting = verbs.add_parser("up", help="start what does not run, and wait until all is ready")
    starting.add_argument("--bare", action="store_true", help="without images and Argo's CRDs")
    asking = verbs.add_parser("status", help="a line for each part; exit code 0 when all are ready")
    reading = verbs.add_parser("logs", help="where the logs are, or the end of one")
    reading.add_argument("part", nargs="?", help="a part as `status` names it")
    ending = verbs.add_parser("down", help="end it all and leave nothing but the cached images")
    ending.add_argument("--purge", action="store_true", help="drop the images too")
    for verb in (starting, asking, reading, ending):
        verb.add_argument("--state", type=Path, default=STATE, help=f"the cluster's folder (default {STATE})")
    return top


def run(asked: argparse.Namespace) -> int:
    """One verb; the exit code."""
    if asked.verb == "build":
        return build.build(versions.load(), asked.only, asked.within, say)
    layout = Layout.at(asked.state.absolute())
    if asked.verb == "up":
        up.up(layout, versions.load(), asked.bare, say)
    elif asked.verb == "down":
        down.down(layout, asked.purge, say)
    elif asked.verb == "logs":
        say(logs.shown(layout, asked.part))
    else:
        found = status.status(layout)
        for name, state in found:
            say(f"{name:26} {state}")
        return 0 if all(state == "ready" for _, state in found) else 3
    return 0


def say(line: str) -> None:
    """Print at once, also into a pipe."""
    print(line, flush=True)


def main(words: list[str]) -> int:
    """Run one verb; the exit code is 0, 2 (the user's input) or 3 (the machine)."""
    try:
        return run(parser().parse_args(words))
    except ShownError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
