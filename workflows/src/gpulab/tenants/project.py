"""A project as the platform sees it, and the names that follow from it."""

import hashlib
import re
from dataclasses import dataclass

from gpulab.errors import InputError
from gpulab.names import SLUG
from gpulab.rendering.overlays import namespace_of

ROLES = ("ci", "build", "teaching", "production")
RELEASED = ("teaching", "production")
REPOSITORY = r"[A-Za-z0-9._-]{1,100}/[A-Za-z0-9._-]{1,100}"
LONGEST_BOT = 40
"""Gitea's limit for a user's name."""


@dataclass(frozen=True)
class Tenant:
    """One project.

    Attributes:
        slug: as in its lab.toml.
        repository: `owner/name` on the forge.
        gpus: how many its pods may ask for at once, per namespace.
    """

    slug: str
    repository: str
    gpus: int = 1

    def namespace(self, role: str) -> str:
        """One of its four namespaces."""
        return namespace_of(self.slug, role)

    @property
    def bot(self) -> str:
        """The account that writes its statuses and deploy branches; each project has its own."""
        name = f"gpulab-{self.slug}"
        if len(name) <= LONGEST_BOT:
            return name
        return f"{name[: LONGEST_BOT - 9]}-{hashlib.sha256(self.slug.encode()).hexdigest()[:8]}"


def tenant(slug: str, repository: str, gpus: int = 1) -> Tenant:
    """A project whose names are well-formed.

    Raises:
        InputError: one is not.
    """
    if not re.fullmatch(SLUG, slug):
        raise InputError(f"found the project {slug!r}; allowed: project.slug of its lab.toml, e.g. gpu-lab-1")
    if not re.fullmatch(REPOSITORY, repository):
        raise InputError(f"--repository: found {repository!r}; allowed: owner/name")
    if not 0 <= gpus <= 64:
        raise InputError(f"--gpus: found {gpus}; allowed: 0 to 64")
    return Tenant(slug, repository, gpus)
