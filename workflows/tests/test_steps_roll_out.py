"""What `sync` does with a release that does not work, and whose fault it says that is."""

from collections.abc import Sequence
from typing import Any

import pytest
from gpulab.clusters.protocol import Document, Golden, RefusedError, Smoke
from gpulab.errors import one_line
from gpulab.forges.local import LocalForge
from gpulab.steps.proof import Proven
from gpulab.steps.release_file import MANIFESTS, Release
from gpulab.steps.sync import SyncInput, roll_out

GOLDEN = Golden({}, [1.0], 1e-3)
NEW = [{"kind": "Deployment", "metadata": {"name": "new"}}]


class Cluster:
    """Remembers what was applied; `refused` documents raise."""

    def __init__(self, smoke: Smoke, before: dict[str, Any] | None = None, refused: bool = False) -> None:
        self.answer, self.before, self.refused = smoke, before, refused
        self.applied: list[list[str]] = []

    def current(self) -> dict[str, Any] | None:
        return self.before

    def apply(self, documents: Sequence[Document]) -> list[str]:
        if self.refused and list(documents) == NEW:
            raise RefusedError("Deployment/new: the cluster refuses it: spec.selector: field is immutable")
        self.applied.append([one["metadata"]["name"] for one in documents])
        return []

    def keep(self, release: dict[str, Any]) -> None:
        self.before = release

    def smoke(self, documents: Sequence[Document], golden: Golden) -> Smoke:
        return self.answer


@pytest.fixture
def before(forge: LocalForge) -> dict[str, Any]:
    manifests = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: old\n"
    revision = forge.commit("deploy/teaching", {MANIFESTS: manifests}, "one", None)
    return {"revision": revision, "source": "0123456789abcdef"}


def rolled_out(forge: LocalForge, cluster: Cluster, release: Release) -> tuple[str, str]:
    asked = {"project": "gpu-lab-1", "revision": "1" * 40, "environment": "teaching", "run": "sync-1"}
    claim = {"claimed_run": release.run, "claimed_accelerator": "cpu"}
    return roll_out(forge, cluster, SyncInput.model_validate(asked | claim), Proven(release, NEW, []), GOLDEN)


def test_a_release_that_works_is_kept(forge: LocalForge, release: Release, before: dict[str, Any]) -> None:
    cluster = Cluster(Smoke(True, "answered"), before)
    assert rolled_out(forge, cluster, release) == ("success", "answered")
    assert (cluster.applied, cluster.before["revision"] if cluster.before else "") == ([["new"]], "1" * 40)


@pytest.mark.parametrize(
    ("cluster", "state"),
    [
        (Cluster(Smoke(False, "the answer is 2 away")), "failure"),
        (Cluster(Smoke(False, "the image cannot be pulled", trouble=True)), "error"),
        (Cluster(Smoke(True, "never asked"), refused=True), "failure"),
    ],
)
def test_otherwise_the_one_before_is_back(
    forge: LocalForge, release: Release, before: dict[str, Any], cluster: Cluster, state: str
) -> None:
    cluster.before = before
    said, message = rolled_out(forge, cluster, release)
    assert said == state
    assert message.endswith("; commit 0123456789ab is back")
    assert (cluster.applied[-1], cluster.before) == (["old"], before)


def test_a_first_release_that_fails_is_taken_out(forge: LocalForge, release: Release) -> None:
    cluster = Cluster(Smoke(False, "not ready"))
    assert rolled_out(forge, cluster, release)[1] == "not ready; removed again: there was no release before"
    assert cluster.applied == [["new"], []]


def test_a_long_message_keeps_what_is_there_now() -> None:
    told = one_line(f"container serve ended: {'x' * 300}; commit 0123456789ab is back", 140)
    assert len(told) == 140
    assert told.startswith("container serve ended: x")
    assert told.endswith("; commit 0123456789ab is back")
