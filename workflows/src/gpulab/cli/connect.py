"""`gpulab connect`: set up the project's forge, once; `gpulab push` does it too."""

from gpulab.cli.project import here
from gpulab.cli.words import say


def connect_project() -> None:
    """Make the local forge and the remote `lab`, or say who connects another one; nothing is done twice."""
    say(here().prepare())
