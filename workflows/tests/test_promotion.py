"""The promotion: its pull request, each reason to refuse it, and the ways back; real git, real kustomize."""

import dataclasses
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gpulab.cli.promote import refuse_unseen
from gpulab.cli.status import advice
from gpulab.errors import InputError
from gpulab.events import PRODUCTION, PROMOTION_CHECK, TEACHING, sync_context
from gpulab.forges.local import LocalForge
from gpulab.forges.protocol import PullRequest, Status
from gpulab.home import Home
from gpulab.images.layout import Layout
from gpulab.promotion import propose, running, to_promote
from gpulab.promotion_text import DIFF_LINES, describe
from gpulab.rollback import propose_rollback, restore, target
from gpulab.steps.notify import PromotionHead, notify_promotion
from gpulab.steps.release_commit import commit_release
from gpulab.steps.release_file import MANIFESTS, RELEASE, Release
from gpulab.steps.verify_promotion import PromotionInput, verify_promotion

GATES = [
    {"name": "precision/float16", "accelerator": "t4", "verdict": "PASS", "value": 1.2345678, "bound": 2, "unit": "ν"},
    {
        "name": "speed/production",
        "accelerator": "t4",
        "verdict": "PASS",
        "value": 0.97,
        "bound": 1.05,
        "unit": "",
        "params": {"commit": "0123456789ab", "low": 0.95, "high": 0.991},
        "why": "not slower",
    },
]


def record_of(release: Release, **changes: Any) -> dict[str, Any]:
    return {
        "schema": "gpulab/results/v1",
        "verdict": "PASS",
        "revision": release.source,
        "project": {"slug": release.project},
        "image": {"digest": release.digest, "repository": release.repository},
        "gates": GATES,
        "verify": {"t4": {"memory": {"parameters": 1234567, "weights_bytes": 3 * 2**20}}},
        **changes,
    }


def synced(forge: LocalForge, environment: str, state: str = "success", said: str = "answered") -> None:
    head = forge.head(f"deploy/{environment}") or ""
    context = sync_context(environment)
    forge.set_status(head, Status(context, state, said, "sync-x"))  # type: ignore[arg-type]


def teach(forge: LocalForge, release: Release) -> Release:
    commit_release(forge, release, TEACHING, forge.head(TEACHING), "release")
    synced(forge, "teaching")
    return release


@pytest.fixture(scope="module")
def prepared() -> dict[str, Path]:
    """Where the first test that asks left its home, for the others to copy: rendering costs a second."""
    return {}


@pytest.fixture
def asked(
    forge: LocalForge, release: Release, prepared: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> PullRequest:
    """An open pull request for what teaching runs."""
    if not prepared:
        teach(forge, release)
        propose(forge, to_promote(forge), record_of(release))
        prepared["home"] = tmp_path_factory.mktemp("prepared") / "home"
        shutil.copytree(forge.home.root, prepared["home"])
    shutil.rmtree(forge.home.root)
    shutil.copytree(prepared["home"], forge.home.root)
    return forge.pull_requests()[0]


def next_commit(forge: LocalForge, message: str = "next") -> str:
    parent = forge.head("main") or ""
    commit = forge.git.text("commit-tree", f"{parent}^{{tree}}", "-p", parent, "-m", message)
    forge.git.run("update-ref", "refs/heads/main", commit)
    return commit


def in_production(forge: LocalForge, release: Release) -> str:
    commit = commit_release(
        forge, dataclasses.replace(release, environment="production"), PRODUCTION, forge.head(PRODUCTION), "p"
    )
    synced(forge, "production")
    return commit


# the pull request


def test_the_request_says_what_a_reviewer_needs(asked: PullRequest, release: Release) -> None:
    assert (asked.base, asked.branch) == (PRODUCTION, f"promote/{release.source[:12]}")
    for text in (
        f"`{release.repository}@{release.digest}`",
        f"| commit | `{release.source}` |",
        f"gpulab report {release.run}",
        "| production now | nothing |",
        "| precision/float16 | t4 | PASS | 1.235 | 2 | ν |",
        "| production | 0123456789ab | t4 | PASS | -3.0 % | -5.0 % to -0.9 % | not slower |",
        "| t4 | parameters | 1,234,567 |",
        "| t4 | weights bytes | 3.0 MiB |",
        f"+        image: {release.repository}@{release.digest}",
    ):
        assert text in asked.body, asked.body


def test_the_change_is_shown_against_what_production_runs(forge: LocalForge, release: Release) -> None:
    old = dataclasses.replace(release, digest=f"sha256:{'e' * 64}")
    in_production(forge, old)
    teach(forge, release)
    body = propose(forge, to_promote(forge), record_of(release)).body
    assert f"-        image: {old.repository}@{old.digest}" in body
    assert f"| production now | commit `{old.source}`, `{old.digest}` |" in body
    diff = body.partition("```diff")[2]
    assert len(re.findall(r"^[+-] ", diff, re.MULTILINE)) == 2


def test_the_same_question_gets_the_same_request_and_another_release_a_new_text(
    forge: LocalForge, asked: PullRequest, release: Release
) -> None:
    assert propose(forge, to_promote(forge), record_of(release)) == asked
    again = teach(forge, dataclasses.replace(release, run="push-0123456789ab-123456-2"))
    newer = propose(forge, to_promote(forge), record_of(again))
    assert (newer.number, newer.branch) == (asked.number, asked.branch)
    assert newer.head != asked.head
    assert again.run in newer.body


def test_foreign_texts_stay_texts(release: Release) -> None:
    gate = {"name": "a|b\n# c", "verdict": "PASS", "value": None, "bound": True, "unit": "`x`<script>"}
    text = describe(release, {"gates": [gate, "no gate"], "verify": []}, ["+ ```", "+ ````"], None)
    assert "\n# c" not in text
    assert r"a\|b # c" in text.replace(r"\#", "#")
    assert "<script>" not in text.replace(r"\<", "")
    assert "\n`````diff\n" in text
    assert "Not measured." in text
    assert "Not compared" in text


def test_a_long_change_is_shortened_in_words(release: Release) -> None:
    lines = [f"+line {number}" for number in range(DIFF_LINES + 25)]
    text = describe(release, record_of(release), lines, None)
    assert f"+line {DIFF_LINES - 1}\n… 25 more lines" in text
    assert f"+line {DIFF_LINES}\n" not in text


def test_nothing_is_promoted_that_teaching_does_not_run(forge: LocalForge, release: Release) -> None:
    with pytest.raises(InputError, match="nothing is released to teaching"):
        to_promote(forge)
    teach(forge, release)
    synced(forge, "teaching", "failure", "it did not answer")
    with pytest.raises(InputError, match="it did not answer"):
        to_promote(forge)
    synced(forge, "teaching")
    in_production(forge, release)
    with pytest.raises(InputError, match="already runs"):
        to_promote(forge)
    synced(forge, "production", "error", "the platform could not finish")
    with pytest.raises(InputError, match="gpulab run deploy/production"):
        to_promote(forge)


# its check


class Check:
    """`verify-promotion` as the pipeline runs it, and its exit handler."""

    def __init__(self, home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.record, self.message = folder / "record.json", folder / "message"
        monkeypatch.setenv("GPULAB_PLATFORM", "local")
        monkeypatch.setenv("GPULAB_HOME", str(home.root))
        monkeypatch.setenv("GPULAB_RECORD", str(self.record))
        monkeypatch.setenv("GPULAB_MESSAGE_FILE", str(self.message))
        self.forge = LocalForge(home, lambda _: None)

    def __call__(self, revision: str, record: Any) -> Status:
        if record is not None:
            self.record.write_text(record if isinstance(record, str) else json.dumps(record))
        values = {"project": "gpu-lab-1", "revision": revision, "run": "promotion-x"}
        try:
            verify_promotion(PromotionInput(**values, claimed_run="push-x", claimed_accelerator="cpu"))
        except SystemExit:
            notify_promotion(PromotionHead(**values))
        return self.forge.statuses(revision)[PROMOTION_CHECK]


@pytest.fixture
def check(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    return Check(home, tmp_path, monkeypatch)


def test_a_proven_release_may_go_to_production(check: Check, asked: PullRequest, release: Release) -> None:
    said = check(asked.head, record_of(release))
    assert said.state == "success", said
    assert release.run in said.description


RECORDS: dict[str, tuple[Callable[[Release], Any], str]] = {
    "the record is gone": (lambda _: None, "no record"),
    "the run failed": (lambda release: record_of(release, verdict="FAIL"), "ended FAIL"),
    "the run was inconclusive": (lambda release: record_of(release, verdict="INCONCLUSIVE"), "ended INCONCLUSIVE"),
    "the run proved another digest": (
        lambda release: record_of(release, image={"digest": "sha256:0", "repository": release.repository}),
        "another digest",
    ),
    "the run proved another repository": (
        lambda release: record_of(release, image={"digest": release.digest, "repository": "elsewhere/x"}),
        "another image",
    ),
    "the run judged another commit": (lambda release: record_of(release, revision="c" * 40), "judged commit"),
    "the run is of another project": (lambda release: record_of(release, project={"slug": "x"}), "another project"),
    "the record has another form": (lambda _: [1, 2], "is not a gpulab/results/v1"),
    "the record has another schema": (lambda release: record_of(release, schema="v0"), "is not a gpulab/results/v1"),
}


@pytest.mark.parametrize("case", RECORDS)
def test_a_record_that_does_not_prove_it_is_a_refusal(
    check: Check, asked: PullRequest, release: Release, case: str
) -> None:
    record, words = RECORDS[case]
    said = check(asked.head, record(release))
    assert said.state == "failure"
    assert words in said.description


def test_a_damaged_record_is_the_platforms_trouble(check: Check, asked: PullRequest) -> None:
    said = check(asked.head, "{")
    assert said.state == "error"
    assert "record.json" in check.message.read_text()


def test_an_image_that_the_store_lost_is_a_refusal(
    check: Check, asked: PullRequest, release: Release, home: Home
) -> None:
    Layout(home.images).blob(release.digest).unlink()
    said = check(asked.head, record_of(release))
    assert (said.state, "image store" in said.description) == ("failure", True)


def test_a_source_that_is_not_in_main_is_a_refusal(
    check: Check, asked: PullRequest, release: Release, forge: LocalForge
) -> None:
    orphan = forge.git.text("commit-tree", f"{release.source}^{{tree}}", "-m", "orphan")
    forge.git.run("update-ref", "refs/heads/main", orphan)
    said = check(asked.head, record_of(release))
    assert (said.state, "not in main" in said.description) == ("failure", True)


def test_production_that_moved_on_is_a_refusal(
    check: Check, asked: PullRequest, release: Release, forge: LocalForge
) -> None:
    in_production(forge, release)
    said = check(asked.head, record_of(release))
    assert said.state == "failure"
    assert "moved on" in said.description
    assert "gpulab promote" in said.description


def forged(forge: LocalForge, asked: PullRequest, **changes: bytes) -> str:
    names = {"manifests": MANIFESTS, "release": RELEASE, "more": "README.md"}
    files = {name: forge.read(asked.head, name) or b"" for name in (MANIFESTS, RELEASE)}
    files |= {names[key]: value for key, value in changes.items()}
    return forge.commit("promote/forged", files, "forged", None)


def test_other_manifests_are_a_refusal(check: Check, asked: PullRequest, release: Release, forge: LocalForge) -> None:
    manifests = (forge.read(asked.head, MANIFESTS) or b"").replace(b"replicas: 2", b"replicas: 3")
    assert manifests != forge.read(asked.head, MANIFESTS)
    said = check(forged(forge, asked, manifests=manifests), record_of(release))
    assert (said.state, "edited by hand" in said.description) == ("failure", True)
    said = check(forged(forge, asked, more=b"hello"), record_of(release))
    assert (said.state, "README.md" in said.description) == ("failure", True)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("digest", f"sha256:{'b' * 64}"),
        ("repository", "elsewhere/x"),
        ("repository", ["x"]),
        ("source", "b" * 40),
        ("environment", "teaching"),
        ("environment", {}),
        ("project", "another"),
        ("accelerator", "../x"),
        ("schema", "v0"),
        ("more", 1),
    ],
)
def test_a_tampered_release_file_is_a_refusal(
    check: Check, asked: PullRequest, release: Release, forge: LocalForge, field: str, value: Any
) -> None:
    document = json.loads(forge.read(asked.head, RELEASE) or b"") | {field: value}
    said = check(forged(forge, asked, release=json.dumps(document).encode()), record_of(release))
    assert said.state == "failure", said


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "{}", '"x"', "\xff"])
def test_a_release_file_of_another_form_is_a_refusal_in_words(
    check: Check, asked: PullRequest, release: Release, forge: LocalForge, text: str
) -> None:
    said = check(forged(forge, asked, release=text.encode("latin-1")), record_of(release))
    assert said.state == "failure"
    assert "release.json" in said.description


# the way back


def two_in_production(forge: LocalForge, release: Release) -> tuple[Release, Release]:
    """Two releases of two commits, the second runs."""
    first = dataclasses.replace(release, environment="production")
    in_production(forge, first)
    second = dataclasses.replace(first, source=next_commit(forge), digest=f"sha256:{'e' * 64}")
    in_production(forge, second)
    return first, second


def test_a_rollback_is_a_pull_request_that_passes_the_same_check(
    check: Check, forge: LocalForge, release: Release
) -> None:
    first, _ = two_in_production(forge, release)
    back = target(forge, "production")
    assert back.release == first
    asked = propose_rollback(forge, back)
    assert propose_rollback(forge, back) == asked
    assert asked.title == f"Roll production back to {first.source[:12]}"
    assert f"+        image: {first.repository}@{first.digest}" in asked.body
    assert check(asked.head, record_of(first)).state == "success"
    forge.merge(asked.number)
    synced(forge, "production")
    assert running(forge, PRODUCTION) == first
    assert target(forge, "production").release.digest == f"sha256:{'e' * 64}"


def test_a_plain_git_revert_passes_the_same_check(
    check: Check, forge: LocalForge, release: Release, tmp_path: Path
) -> None:
    first, _ = two_in_production(forge, release)
    clone = tmp_path / "clone"
    forge.git.run("clone", "--quiet", "--branch", PRODUCTION, str(forge.home.repository), str(clone))
    from gpulab.forges.local.git import Git

    Git(clone).run("revert", "--no-edit", "HEAD")
    Git(clone).run("push", "--quiet", "origin", f"HEAD:{PRODUCTION.replace('deploy', 'revert')}")
    reverted = forge.head("revert/production") or ""
    assert check(reverted, record_of(first)).state == "success"


def test_teaching_goes_back_at_once(forge: LocalForge, release: Release) -> None:
    teach(forge, release)
    teach(forge, dataclasses.replace(release, source=next_commit(forge)))
    restore(forge, "teaching", target(forge, "teaching"))
    assert running(forge, TEACHING) == release


def test_only_what_answered_comes_back(forge: LocalForge, release: Release) -> None:
    first, _ = two_in_production(forge, release)
    third = dataclasses.replace(first, source=next_commit(forge), digest=f"sha256:{'f' * 64}")
    in_production(forge, third)
    synced(forge, "production", "failure", "it did not answer")
    fourth = dataclasses.replace(first, source=next_commit(forge), digest=f"sha256:{'a' * 64}")
    in_production(forge, fourth)
    assert target(forge, "production").release.digest == f"sha256:{'e' * 64}"
    assert target(forge, "production", first.source[:8]).release == first
    with pytest.raises(InputError, match=first.source[:12]):
        target(forge, "production", third.source)


def test_there_may_be_nothing_to_go_back_to(forge: LocalForge, release: Release) -> None:
    for _ in range(2):
        with pytest.raises(InputError, match="nothing to go back to"):
            target(forge, "production")
        in_production(forge, release)


# what was not looked at is not merged


def test_a_merge_takes_what_was_reviewed_and_nothing_newer(
    forge: LocalForge, release: Release, asked: PullRequest
) -> None:
    old = release.source[:12]
    refuse_unseen(forge, to_promote(forge), "", merge=True)
    refuse_unseen(forge, to_promote(forge), old, merge=True)
    assert advice(forge, asked) == f"Merge it with: gpulab promote {old} --merge"
    new = teach(forge, dataclasses.replace(release, source=next_commit(forge))).source[:12]
    with pytest.raises(InputError, match=rf"teaching runs {new} now, not {old}"):
        refuse_unseen(forge, to_promote(forge), old, merge=True)
    with pytest.raises(InputError, match=rf"pull request {asked.number} .* is open, and teaching runs {new} now"):
        refuse_unseen(forge, to_promote(forge), "", merge=True)
    refuse_unseen(forge, to_promote(forge), "", merge=False)
    refuse_unseen(forge, to_promote(forge), new, merge=True)
    assert "overtaken" in advice(forge, asked)
