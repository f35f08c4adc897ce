"""`release.json` on a deploy branch: what runs there, and which run proved it."""

import json
import re
from dataclasses import asdict, dataclass
from typing import Any

from gpulab.contract.kinds import REPOSITORY
from gpulab.errors import InputError
from gpulab.events import COMMIT_ID, ENVIRONMENTS
from gpulab.names import LABEL, SLUG

SCHEMA = "gpulab/release/v1"
MANIFESTS = "manifests.yaml"
RELEASE = "release.json"
PATTERNS = {
    "project": SLUG,
    "source": COMMIT_ID[1:-1],
    "environment": "|".join(ENVIRONMENTS),
    "repository": REPOSITORY[1:-1],
    "digest": r"sha256:[0-9a-f]{64}",
    "run": LABEL,
    "accelerator": r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?",
}


@dataclass(frozen=True)
class Release:
    """What is released.

    Attributes:
        project: the project's slug.
        environment: `teaching` or `production`.
        source: the commit that was built.
        repository: the image's name without tag or digest.
        digest: the image's digest, the same in every environment.
        run: the run whose record proves it.
        accelerator: the accelerator whose golden answer the smoke request compares with.
    """

    project: str
    environment: str
    source: str
    repository: str
    digest: str
    run: str
    accelerator: str

    def to_json(self) -> bytes:
        """The file's bytes; no time in it, so that the same release is the same file."""
        return (json.dumps({"schema": SCHEMA, **asdict(self)}, indent=2, sort_keys=True) + "\n").encode()


def read_release(data: bytes | None, where: str) -> Release:
    """A release from the bytes of its file; every field is matched, because a branch proves nothing by itself.

    Raises:
        InputError: the file is missing, is no JSON, or a field is not what it must be.
    """
    if data is None:
        raise InputError(f"{where} has no {RELEASE}: a deploy branch holds {MANIFESTS} and {RELEASE} only")
    try:
        document: dict[str, Any] = json.loads(data)
        schema = document.pop("schema")
        release = Release(**document)
    except (ValueError, TypeError, KeyError, AttributeError):
        raise InputError(f"{where}:{RELEASE} is not a {SCHEMA} document") from None
    if schema != SCHEMA:
        raise InputError(f"{where}:{RELEASE} says schema {schema!r}; this platform reads {SCHEMA}")
    for field, pattern in PATTERNS.items():
        value = getattr(release, field)
        if not isinstance(value, str) or re.fullmatch(pattern, value) is None:
            raise InputError(f"{where}:{RELEASE} {field}: found {value!r}, allowed: {pattern}")
    return release
