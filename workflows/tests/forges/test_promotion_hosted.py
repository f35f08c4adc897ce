"""From a release in teaching to production and back, on a real Gitea."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from gpulab.errors import InputError
from gpulab.events import PRODUCTION, PROMOTION_CHECK, TEACHING, sync_context
from gpulab.forges import Status
from gpulab.forges.hosted import HostedForge
from gpulab.promotion import propose, running, to_promote
from gpulab.rollback import earlier, propose_rollback
from gpulab.steps.proof import prove
from gpulab.steps.release_commit import commit_release
from gpulab.steps.release_file import MANIFESTS, RELEASE, Release
from gpulab.steps.verify_promotion import against_forge

if TYPE_CHECKING:
    from conftest import Gitea

pytestmark = pytest.mark.cluster
PROJECT = Path(__file__).parents[1] / "resources" / "projects" / "valid"
SLUG, IMAGE = "gpu-lab-1", "gpulab.local/gpu-lab-1"


@pytest.fixture
def forge(gitea: "Gitea", repository: str) -> HostedForge:
    return gitea.started(repository)


def pushed(forge: HostedForge, message: str) -> str:
    """A commit of the whole project on main."""
    git, before = forge.clone.git, forge.head("main") or ""
    forge.clone.fetched(before)
    git.run(f"--work-tree={PROJECT}", "add", "--all", ".")
    commit = git.text("commit-tree", git.text("write-tree"), "-p", before, "-m", message)
    forge.clone.push("main", commit, before)
    return commit


def released(forge: HostedForge, number: int) -> Release:
    """A release of main's head that teaching runs."""
    source = pushed(forge, f"change {number}")
    release = Release(SLUG, "teaching", source, IMAGE, f"sha256:{number:064x}", f"push-{source[:12]}-123456", "cpu")
    head = commit_release(forge, release, TEACHING, forge.head(TEACHING), f"Release {source[:12]}")
    forge.set_status(head, Status(sync_context("teaching"), "success", "it answers", "sync-teaching-1"))
    return release


def promoted(forge: HostedForge) -> str:
    release = to_promote(forge)
    pull = propose(forge, release, {"gates": []})
    assert propose(forge, release, {"gates": []}) == pull
    image = {"digest": release.digest, "repository": release.repository}
    record = {"schema": "gpulab/results/v1", "verdict": "PASS", "revision": release.source, "image": image}
    proven = prove(forge, pull.head, SLUG, "production", record | {"project": {"slug": SLUG}})
    assert [*proven.problems, *against_forge(forge, pull.head, release)] == []
    forge.set_status(pull.head, Status(PROMOTION_CHECK, "success", "proven", "promotion-1"))
    head = forge.merge(pull.number)
    forge.set_status(head, Status(sync_context("production"), "success", "it answers", "sync-production-1"))
    return head


def test_promotion_and_rollback(forge: HostedForge) -> None:
    with pytest.raises(InputError, match="nothing is released to teaching yet"):
        to_promote(forge)
    first = released(forge, 1)
    assert running(forge, PRODUCTION) is None
    head = promoted(forge)
    assert forge.files(head) == sorted([MANIFESTS, RELEASE])
    assert (running(forge, PRODUCTION) or first).source == first.source
    with pytest.raises(InputError, match="production already runs"):
        to_promote(forge)
    second = released(forge, 2)
    newer = promoted(forge)
    assert forge.history(PRODUCTION) == [newer, head]
    back = next(one for one in earlier(forge, "production") if one.release.source == first.source)
    pull = propose_rollback(forge, back)
    forge.set_status(pull.head, Status(PROMOTION_CHECK, "success", "proven", "promotion-2"))
    forge.merge(pull.number)
    assert (running(forge, PRODUCTION) or second).source == first.source
    assert len(forge.history(PRODUCTION)) == 3
