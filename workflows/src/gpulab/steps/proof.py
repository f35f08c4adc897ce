"""Does a release hold what it claims? The same questions for `sync` and `verify-promotion`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gpulab.forges.protocol import Forge
from gpulab.rendering.documents import DocumentError, read_documents
from gpulab.rendering.overlays import namespace_of, render_release
from gpulab.rendering.released import released_problems
from gpulab.steps.release_file import MANIFESTS, RELEASE, Release, read_release

RECORD_SCHEMA = "gpulab/results/v1"


@dataclass(frozen=True)
class Proven:
    """A release whose manifests were looked at.

    Attributes:
        release: what it claims.
        documents: the rendered manifests on the branch; empty when they cannot be read.
        problems: why it may not be applied; empty when it may.
    """

    release: Release
    documents: list[dict[str, Any]]
    problems: list[str]


def prove(forge: Forge, revision: str, project: str, environment: str, record: Any) -> Proven:
    """Compare a deploy commit with the record of the run that it names, and with a fresh rendering of its source.

    A branch proves nothing by itself: whoever owns a repository can write it. The record (any JSON, None when there is
    none) is kept by the platform.

    Raises:
        InputError: `release.json` is missing or malformed.
    """
    release = read_release(forge.read(revision, RELEASE), revision[:12])
    manifests = (forge.read(revision, MANIFESTS) or b"").decode(errors="replace")
    problems = against_request(release, project, environment)
    problems += against_record(release, record)
    extra = sorted(set(forge.files(revision)) - {MANIFESTS, RELEASE})
    problems += [f"the branch holds {', '.join(extra)}; only {MANIFESTS} and {RELEASE} belong there"] if extra else []
    if not problems and rendered(forge, release) != manifests:
        problems.append(f"{MANIFESTS} is not what commit {release.source[:12]} renders to: it was edited by hand")
    documents, refused = allowed(release, manifests)
    return Proven(release, documents, [*problems, *refused])


def allowed(release: Release, manifests: str) -> tuple[list[dict[str, Any]], list[str]]:
    """The documents of a release, and which of them may not be applied: kinds, images, namespace, references."""
    try:
        documents = read_documents(manifests)
    except DocumentError as error:
        return [], [f"{MANIFESTS}: {error}"]
    image = f"{release.repository}@{release.digest}"
    namespace = namespace_of(release.project, release.environment)
    found = released_problems(documents, image=image, namespace=namespace, told_as=MANIFESTS)
    return documents, [str(one) for one in found]


def against_request(release: Release, project: str, environment: str) -> list[str]:
    """Is it this project's, and meant for this environment?"""
    problems = []
    if release.project != project:
        problems.append(f"the release is of project {release.project}, not {project}")
    if release.environment != environment:
        problems.append(f"the release is for {release.environment}, not {environment}")
    return problems


def against_record(release: Release, record: Any) -> list[str]:
    """Did the named run pass, with this commit and this digest?"""
    if record is None:
        return [f"the platform keeps no record of run {release.run}: nothing proves this digest"]
    if not isinstance(record, Mapping) or record.get("schema") != RECORD_SCHEMA:
        return [f"the record of run {release.run} is not a {RECORD_SCHEMA} document"]
    image, project = _part(record, "image"), _part(record, "project")
    problems = []
    if record.get("verdict") != "PASS":
        problems.append(f"run {release.run} ended {record.get('verdict')}, not PASS")
    if record.get("revision") != release.source:
        problems.append(f"run {release.run} judged commit {record.get('revision')}, not {release.source}")
    if image.get("digest") != release.digest:
        problems.append(f"run {release.run} proved another digest than {release.digest}")
    if image.get("repository") != release.repository:
        problems.append(f"run {release.run} proved another image than {release.repository}")
    if project.get("slug") != release.project:
        problems.append(f"run {release.run} is of another project")
    return problems


def _part(record: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = record.get(key)
    return part if isinstance(part, Mapping) else {}


def rendered(forge: Forge, release: Release) -> str:
    """The overlay of the release's source, with the release's digest."""
    with TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        forge.checkout(release.source, source)
        return render_release(source, release.environment, release.repository, release.digest)
