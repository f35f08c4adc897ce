"""`gpulab connect`: set up the project's forge, once; `gpulab push` does it too."""

from gpulab.cli.project import connected
from gpulab.cli.words import say
from gpulab.forges.local.connect import REMOTE


def connect_project() -> None:
    """Make the local forge and the remote `lab`; does nothing that is done already."""
    project = connected()
    say(f"{project.slug} is connected: the remote `{REMOTE}` is the forge in {project.home.repository.parent.name}/")
    say("Next: git push lab main, or gpulab push")
